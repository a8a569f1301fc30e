//! Draws the number of requests, their statuses and errors, and the causes of lateness.

use super::figures::BAD;
use super::grid::{Grid, Rect, plain};
use crate::console::human;
use crate::load::kind::STATUS;
use crate::results::lateness::Lateness;
use crate::results::tally::Tally;
use crate::shown::snapshot::Snapshot;
use crossterm::style::Stylize;
use std::cmp::Reverse;

/// Draws the outcomes of requests since the end of the warm-up. Skipped slots include those of the warm-up.
pub(super) fn draw_outcomes(grid: &mut Grid, area: Rect, now: &Snapshot) {
    let Snapshot { tally, ledger, lateness, .. } = now;
    let failed = tally.failed();
    let good = format!("started {}   completed {}   ", tally.started, tally.completed);
    let bad = plain(format!("failed {failed}"));
    let bad = if failed > 0 { bad.with(BAD).bold() } else { bad };
    let mut counts = vec![plain(good), bad];
    if ledger.skipped > 0 {
        counts.push(plain(format!("   skipped {}", ledger.skipped)));
    }
    let lines = [counts, vec![plain(responses(tally))], vec![plain(causes(lateness))]];
    area.rows().zip(lines).for_each(|(area, line)| grid.line(area, line));
}

/// Returns the errors and the statuses, each with its number. The most frequent errors come first. The statuses of
/// failures come before other statuses.
pub(super) fn endings(tally: &Tally) -> [Vec<(String, u64)>; 2] {
    let errors = tally.failures.iter().filter(|(kind, _)| kind.group() != STATUS);
    let mut errors: Vec<_> = errors.map(|(kind, count)| (kind.to_string(), *count)).collect();
    errors.sort_by_key(|(_, count)| Reverse(*count));
    let mut statuses: Vec<_> = tally.statuses.iter().collect();
    statuses.sort_unstable_by_key(|&(status, count)| (*status < 400, Reverse(count), status));
    [errors, statuses.into_iter().map(|(status, count)| (status.to_string(), *count)).collect()]
}

fn responses(tally: &Tally) -> String {
    let parts = ["errors ", "statuses "].into_iter().zip(endings(tally));
    let parts = parts.filter(|(_, counts)| !counts.is_empty());
    let parts = parts.map(|(name, counts)| name.to_owned() + &list(&counts));
    parts.collect::<Vec<_>>().join("   ")
}

fn list(counts: &[(String, u64)]) -> String {
    let shown = counts.iter().map(|(name, count)| format!("{name}: {count}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn causes(lateness: &Lateness) -> String {
    let shares = lateness.shares();
    if shares.is_empty() {
        return "no lateness".to_owned();
    }
    let share = |(cause, share): (_, f64)| format!("{cause} {}", human::percent(share));
    let shares: Vec<_> = shares.into_iter().map(share).collect();
    format!("lateness: {}", shares.join(", "))
}
