//! Writes comparisons as tables: of a run with its baseline, of two sides, and of repeated requests with the others.

use crate::console::human;
use crate::judged::comparison::Comparison;
use crate::judged::summary::Summary;
use crate::results::repetition::Repetition;
use crate::shown::comparison::{BESIDE, cells, notes, sides_of_run};
use crate::shown::repetition;
use maud::{Markup, html};

pub(crate) fn section(summary: &Summary) -> Markup {
    html! {
        @if let Some(beside) = &summary.beside {
            section {
                @let is_paired = beside.as_ref().is_ok_and(|comparison| comparison.is_paired);
                h2 { @if is_paired { (BESIDE) } @else { "Compared with the baseline" } }
                @match beside {
                    Ok(comparison) => {
                        @let [a, b] = sides_of_run(comparison);
                        (table(comparison, [a, b, "difference", ""]))
                    }
                    Err(why) => { p { "Not compared: " (human::visible(why)) } }
                }
            }
        }
    }
}

pub(crate) fn table(comparison: &Comparison, columns: [&str; 4]) -> Markup {
    html! {
        @for told in &comparison.told { p.note { "The sides differ: " (human::visible(told)) } }
        (rows("comparison", columns, comparison.rows.iter().map(cells)))
        @for note in notes(comparison) { p.note { "(" (note) ")" } }
    }
}

pub(crate) fn repeated(repetition: &Repetition) -> Markup {
    html! {
        section {
            h2 { "Repeated requests" }
            p { (repetition::sentence(repetition)) }
            (rows("again", repetition::COLUMNS, repetition::rows(repetition)))
            p.note { "(" (repetition::note(repetition)) ")" }
        }
    }
}

fn rows(id: &str, columns: [&str; 4], rows: impl IntoIterator<Item = [String; 5]>) -> Markup {
    html! {
        div.wide {
            table id=(id) {
                thead {
                    tr { th { "" } @for name in columns { th scope="col" { (name) } } }
                }
                tbody {
                    @for [name, cells @ ..] in rows {
                        tr { th scope="row" { (name) } @for cell in cells { td { (cell) } } }
                    }
                }
            }
        }
    }
}
