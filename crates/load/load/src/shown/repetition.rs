//! Writes whether slow requests were slow again: one sentence and a table.

use crate::console::human;
use crate::results::repetition::{Cause, GroupResult, Repetition};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

pub(crate) fn sentence(repetition: &Repetition) -> String {
    let Repetition { cause, repeated, others, .. } = repetition;
    let cause = match cause {
        Cause::Request => "It is the request",
        Cause::Moment => "It was the moment",
        Cause::Unknown => "It cannot be told",
    };
    let GroupResult { requests, slow, .. } = repeated;
    if *requests == 0 {
        return "No slow request was repeated: let the run be as long as the first one".to_owned();
    }
    let share = percent(others.share());
    format!(
        "{cause}: {slow} of {requests} slow requests were slow again, beside {share} of the others"
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[derive(Debug)]
pub(crate) struct RepetitionTable<'run>(pub(crate) &'run Repetition);

impl Display for RepetitionTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Repetition { repeated, others, difference, low, high, .. } = self.0;
        let row = |f: &mut Formatter<'_>, [name, requests, slow, p50, p95]: [&str; 5]| {
            writeln!(f, "{name:<9} {requests:>9} {slow:>18} {p50:>12} {p95:>12}")
        };
        writeln!(f)?;
        row(f, ["", "requests", "slow", "service p50", "service p95"])?;
        for (name, group) in [("repeated", repeated), ("others", others)] {
            let GroupResult { requests, slow, service_p50_ns, service_p95_ns } = group;
            let slow = format!("{slow} ({})", percent(group.share()));
            let [p50, p95] =
                [service_p50_ns, service_p95_ns].map(|ns| human::time(Duration::from_nanos(*ns)));
            row(f, [name, &requests.to_string(), &slow, &p50, &p95])?;
        }
        let [difference, low, high] = [difference, low, high].map(|share| share * 100.0);
        writeln!(
            f,
            "(slow: above the p95 of the others; difference {difference:+.1} percentage points, 95 % confidence interval {low:+.1} to {high:+.1})"
        )
    }
}
