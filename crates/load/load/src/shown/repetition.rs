//! Formats the result of a run that repeats slow requests, as a sentence and as a table.

use crate::console::human;
use crate::results::repetition::{Cause, GroupResult, Repetition};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

pub(crate) fn sentence(repetition: &Repetition) -> String {
    let Repetition { cause, repeated, others, .. } = repetition;
    let cause = match cause {
        Cause::Request => "The cause is the request",
        Cause::Moment => "The cause was the moment",
        Cause::Unknown => "The cause is unknown",
    };
    let &GroupResult { requests, slow, .. } = repeated;
    if requests == 0 {
        return "No slow request was repeated: run for at least as long as the first run"
            .to_owned();
    }
    let share = human::percent(others.share());
    let (requests, were) = (human::count(requests, "request"), human::was(slow));
    format!("{cause}: {slow} of {requests} {were} slow again; {share} of the others were slow")
}

fn time(ns: u64) -> String {
    human::time(Duration::from_nanos(ns))
}

pub(crate) const COLUMNS: [&str; 4] = ["requests", "slow", "service p50", "service p95"];

pub(crate) fn rows(repetition: &Repetition) -> [[String; 5]; 3] {
    let Repetition { repeated, slowest, others, .. } = repetition;
    [("repeated", repeated), ("slowest", slowest), ("others", others)].map(|(name, group)| {
        let GroupResult { requests, slow, service_p50_ns, service_p95_ns } = group;
        let slow = format!("{slow} ({})", human::percent(group.share()));
        let [p50, p95] = [service_p50_ns, service_p95_ns].map(|ns| ns.map_or("-".to_owned(), time));
        [name.to_owned(), requests.to_string(), slow, p50, p95]
    })
}

pub(crate) fn note(repetition: &Repetition) -> String {
    let Repetition { difference, low, high, .. } = repetition;
    let [difference, low, high] = [difference, low, high].map(|share| share * 100.0);
    format!(
        "slow: failed, or service time above the p95 of the others; slowest: the five slowest of the earlier run, which are among the repeated; difference {difference:+.1} percentage points, 95 % confidence interval {low:+.1} to {high:+.1}"
    )
}

#[derive(Debug)]
pub(crate) struct RepetitionTable<'run>(pub(crate) &'run Repetition);

impl Display for RepetitionTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = |f: &mut Formatter<'_>, [name, requests, slow, p50, p95]: [&str; 5]| {
            writeln!(f, "{name:<9} {requests:>9} {slow:>18} {p50:>12} {p95:>12}")
        };
        let [requests, slow, p50, p95] = COLUMNS;
        writeln!(f)?;
        row(f, ["", requests, slow, p50, p95])?;
        rows(self.0).iter().try_for_each(|cells| row(f, cells.each_ref().map(String::as_str)))?;
        writeln!(f, "({})", note(self.0))
    }
}
