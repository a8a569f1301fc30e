//! What became of requests, and whose the lateness was.

use super::figures::BAD;
use crate::console::human;
use crate::load::kind::{FailureKind, STATUS};
use crate::recorded::lateness::Lateness;
use crate::recorded::tally::Tally;
use crate::shown::snapshot::Snapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use std::cmp::Reverse;
use std::fmt::Display;
use std::time::Duration;

/// Three lines: counts, statuses and errors, lateness. All since the end of the warm-up.
#[derive(Debug)]
pub(crate) struct Outcomes<'run>(pub(crate) &'run Snapshot);

impl Widget for Outcomes<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let Snapshot { tally, ledger, lateness, .. } = self.0;
        let failed = tally.failed();
        let good = format!("started {}   completed {}   ", tally.started, tally.completed);
        let bad = Span::from(format!("failed {failed}"));
        let bad = if failed > 0 { bad.fg(BAD).bold() } else { bad };
        let mut counts = vec![Span::from(good), bad];
        if ledger.skipped > 0 {
            counts.push(format!("   skipped {}", ledger.skipped).into());
        }
        let lines = [counts.into(), Line::from(answers(tally)), Line::from(causes(lateness))];
        for (line, area) in lines.into_iter().zip(area.rows()) {
            line.render(area, buffer);
        }
    }
}

/// Errors and statuses, each with its count; the most frequent errors first.
fn answers(tally: &Tally) -> String {
    let is_no_answer = |failure: &FailureKind| failure.group() != STATUS;
    let mut errors: Vec<_> = tally.failures.iter().filter(|(why, _)| is_no_answer(why)).collect();
    errors.sort_unstable_by_key(|&(why, count)| (Reverse(count), why));
    let mut statuses: Vec<_> = tally.statuses.iter().collect();
    statuses.sort_unstable_by_key(|&(status, count)| (*status < 400, Reverse(count), status));
    let [errors, statuses] = [list(errors), list(statuses)];
    match (errors.is_empty(), statuses.is_empty()) {
        (true, true) => "no answers yet".to_owned(),
        (true, false) => format!("statuses {statuses}"),
        (false, true) => format!("errors {errors}"),
        (false, false) => format!("errors {errors}   statuses {statuses}"),
    }
}

fn list(counts: Vec<(impl Display, &u64)>) -> String {
    let shown = counts.into_iter().map(|(what, count)| format!("{what}: {count}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn causes(lateness: &Lateness) -> String {
    let total = lateness.total();
    if total <= 0.0 {
        return "no lateness".to_owned();
    }
    let each = [
        ("target", lateness.target),
        ("generator", lateness.generator),
        ("burst ratio", lateness.held),
        ("think times", lateness.resting),
    ];
    let shares = each.into_iter().filter(|(_, part)| *part > 0.0);
    let shares = shares.map(|(whose, part)| format!("{whose} {}", human::percent(part / total)));
    let sum = human::time(Duration::try_from_secs_f64(total).unwrap_or(Duration::MAX));
    format!("lateness {sum} in all: {}", shares.collect::<Vec<_>>().join(", "))
}
