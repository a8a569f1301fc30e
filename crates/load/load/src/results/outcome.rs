//! Records the outcomes of slots by the times at which they were due.

use super::percentiles::{Sample, record};
use crate::load::kind::FailureKind;
use hdrhistogram::Histogram;
use nanopace::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum Ending {
    Completed,
    Failed(FailureKind),
    Unfinished,
    Unstarted,
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Completed => f.write_str("completed"),
            Ending::Failed(failure) => failure.fmt(f),
            Ending::Unfinished => f.write_str("unfinished"),
            Ending::Unstarted => f.write_str("never started"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) intended_start: Nanos,
    /// The wait time of the slots, or `None` if they were not started.
    pub(crate) wait_time: Option<Duration>,
    /// The time from the intended start to the end. It is a lower bound if the slots were not completed.
    pub(crate) response_time: Duration,
    pub(crate) ending: Ending,
    pub(crate) slots: u64,
}

/// The outcomes of the slots that were due in a time span. The slots may have ended later.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) endings: BTreeMap<Ending, u64>,
    pub(crate) wait: Histogram<u64>,
    pub(crate) response: Histogram<u64>,
    pub(crate) bounds: Histogram<u64>,
}

impl Due {
    pub(crate) fn new() -> Due {
        let histogram = Histogram::new(2).expect("2 is a valid number of digits");
        let (wait, response) = (histogram.clone(), histogram.clone());
        Due { endings: BTreeMap::new(), wait, response, bounds: histogram }
    }

    pub(crate) fn count(&mut self, outcome: &Outcome) {
        let &Outcome { wait_time, response_time, ending, slots, .. } = outcome;
        *self.endings.entry(ending).or_default() += slots;
        if let Some(wait_time) = wait_time {
            record(&mut self.wait, wait_time, slots);
        }
        record(&mut self.response, response_time, slots);
        if ending != Ending::Completed {
            record(&mut self.bounds, response_time, slots);
        }
    }

    pub(crate) fn add(&mut self, other: &Due) {
        for (ending, slots) in &other.endings {
            *self.endings.entry(*ending).or_default() += slots;
        }
        self.wait += &other.wait;
        self.response += &other.response;
        self.bounds += &other.bounds;
    }

    pub(crate) fn ended(&self, ending: Ending) -> u64 {
        self.endings.get(&ending).copied().unwrap_or_default()
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = (FailureKind, u64)> {
        self.endings.iter().filter_map(|(ending, slots)| match ending {
            Ending::Failed(failure) => Some((*failure, *slots)),
            _ => None,
        })
    }

    pub(crate) fn slots(&self) -> u64 {
        self.response.len()
    }

    pub(crate) fn responses(&self) -> Sample<'_> {
        Sample::bounded(&self.response, &self.bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_what_its_parts_have() {
        let second = Duration::from_secs(1);
        let outcome = |ending, wait_time, slots| Outcome {
            intended_start: Nanos::ZERO,
            wait_time,
            response_time: second,
            ending,
            slots,
        };
        let status = FailureKind::new("status 503");
        let mut due = Due::new();
        due.count(&outcome(Ending::Completed, Some(second), 1));
        due.count(&outcome(Ending::Failed(status), Some(second), 1));
        let mut other = Due::new();
        other.count(&outcome(Ending::Unstarted, None, 7));
        other.count(&outcome(Ending::Unfinished, Some(second), 1));
        due.add(&other);
        assert_eq!((due.slots(), due.wait.len(), due.responses().at_least()), (10, 3, 9));
        let failures: Vec<_> = due.failures().collect();
        assert_eq!(failures, [(status, 1)]);
        assert_eq!([Ending::Unstarted, Ending::Unfinished].map(|of| due.ended(of)), [7, 1]);
    }
}
