//! A run beside its baseline, in a table.

use crate::console::human;
use crate::judged::comparison::{Comparison, Row};
use crate::judged::summary::Summary;
use crate::shown::comparison::{NOTE, difference, estimate};
use maud::{Markup, html};

/// What `--baseline` has come to, if it was given.
pub(crate) fn section(summary: &Summary) -> Markup {
    html! {
        @if let Some(beside) = &summary.beside {
            section {
                h2 { "Beside the baseline" }
                @match beside {
                    Ok(comparison) => { (table(comparison)) }
                    Err(why) => { p { "Not compared: " (human::visible(why)) } }
                }
            }
        }
    }
}

fn table(Comparison { rows, told, .. }: &Comparison) -> Markup {
    html! {
        @for told in told { p.note { "They differ: " (human::visible(told)) } }
        div.wide {
            table #baseline {
                thead {
                    tr { th { "" } @for name in ["baseline", "this run", "difference", ""] { th scope="col" { (name) } } }
                }
                tbody { @for row in rows { (line(row)) } }
            }
        }
        p.note { "(" (NOTE) ")" }
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
