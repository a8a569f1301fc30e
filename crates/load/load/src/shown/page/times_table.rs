//! Writes a table with the figures of all charts over time.

use super::kinds::{KINDS, POINTS};
use super::numbers::{count, time};
use super::over_time::{TABLE, Times};
use crate::console::human;
use crate::results::outcome::Ending;
use crate::results::over_time::Interval;
use maud::{Markup, html};
use std::time::Duration;

const COLUMNS: [&str; 10] = [
    "from",
    "to",
    "requested",
    "achieved",
    "backlog",
    "backlog time",
    "due",
    "failed",
    "given up",
    "never started",
];

/// Writes the table. The script of the page reads the figures at the pointer from this table.
pub(crate) fn table(times: &Times) -> Markup {
    html! {
        details {
            summary { "All figures over time" }
            div.wide {
                table id=(TABLE) {
                    thead {
                        tr {
                            @for name in COLUMNS { th scope="col" { (name) } }
                            @for kind in &KINDS {
                                @for (point, ..) in POINTS { th scope="col" { (kind.id) " " (point) } }
                            }
                        }
                    }
                    tbody { @for interval in times.intervals() { (row(interval, times)) } }
                }
            }
        }
    }
}

fn row(interval: &Interval, times: &Times) -> Markup {
    let (_, to) = times.place(interval);
    let Interval { due, backlog, .. } = interval;
    let failed = due.failures().map(|(_, slots)| slots).sum();
    let [unfinished, unstarted] =
        [Ending::Unfinished, Ending::Unstarted].map(|ending| due.ended(ending));
    html! {
        tr data-x=(format!("{to:.4}")) {
            td { (seconds(interval.from)) }
            td { (seconds(interval.to)) }
            td { (human::short_hz(interval.asked_hz())) }
            td { (human::short_hz(interval.achieved_hz())) }
            td { (count(backlog.slots)) }
            td { (human::time(backlog.time)) }
            @for slots in [due.slots(), failed, unfinished, unstarted] { td { (count(slots)) } }
            @for kind in &KINDS {
                @for (_, quantile, _) in POINTS { td { (time((kind.of)(interval), quantile)) } }
            }
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2}s", time.as_secs_f64())
}
