//! Writes the comparison of a run with its baseline as a table.

use crate::console::human;
use crate::judged::comparison::{Comparison, Row};
use crate::judged::summary::Summary;
use crate::shown::comparison::{BESIDE, difference, estimate, notes};
use maud::{Markup, html};

pub(crate) fn section(summary: &Summary) -> Markup {
    html! {
        @if let Some(beside) = &summary.beside {
            section {
                @let is_paired = beside.as_ref().is_ok_and(|comparison| comparison.is_paired);
                h2 { @if is_paired { (BESIDE) } @else { "Beside the baseline" } }
                @match beside {
                    Ok(comparison) if is_paired => { (table(comparison, ["A", "B", "difference", ""])) }
                    Ok(comparison) => { (table(comparison, ["baseline", "this run", "difference", ""])) }
                    Err(why) => { p { "Not compared: " (human::visible(why)) } }
                }
            }
        }
    }
}

pub(crate) fn table(comparison: &Comparison, columns: [&str; 4]) -> Markup {
    html! {
        @for told in &comparison.told { p.note { "They differ: " (human::visible(told)) } }
        div.wide {
            table #comparison {
                thead {
                    tr { th { "" } @for name in columns { th scope="col" { (name) } } }
                }
                tbody { @for row in &comparison.rows { (line(row)) } }
            }
        }
        @for note in notes(comparison) { p.note { "(" (note) ")" } }
    }
}

fn line(row: &Row) -> Markup {
    let sides = row.sides.map(|side| estimate(row.figure, side));
    html! {
        tr {
            th scope="row" { (row.figure) }
            @for side in sides { td { (side) } }
            td { (difference(row)) }
            td { (row.word) }
        }
    }
}
