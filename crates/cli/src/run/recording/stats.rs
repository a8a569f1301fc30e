//! What is counted about operations, by one worker or by all of them.

use super::lateness::Lateness;
use super::operation::{Failure, Operation};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

const GROWS: &str = "a histogram without a given range grows as needed";

/// Times in nanoseconds and counts, for any number of operations.
#[derive(Clone, Debug)]
pub(crate) struct OperationStats {
    /// How late each operation started.
    pub(crate) wait: Histogram<u64>,
    /// How long each completed operation took. This is what a closed-loop tool reports.
    pub(crate) service: Histogram<u64>,
    /// How long after its intended start each completed operation was done.
    pub(crate) response: Histogram<u64>,
    /// How many operations failed, and why. They have a wait time, but no other time.
    pub(crate) failures: BTreeMap<Failure, u64>,
    /// What the lateness was spent on.
    pub(crate) lateness: Lateness,
}

impl OperationStats {
    /// Empty stats. Times are kept to 3 significant digits.
    pub(crate) fn new() -> OperationStats {
        let histogram =
            Histogram::new(3).expect("3 is a number of digits that a histogram can have");
        OperationStats {
            wait: histogram.clone(),
            service: histogram.clone(),
            response: histogram,
            failures: BTreeMap::new(),
            lateness: Lateness::default(),
        }
    }

    /// Counts a finished operation.
    pub(crate) fn record(&mut self, operation: &Operation) {
        let wait = operation.start - operation.intended_start;
        record(&mut self.wait, wait);
        self.lateness.add(wait, operation.worker_free - operation.intended_start);
        match operation.outcome {
            Ok(()) => {
                record(&mut self.service, operation.end - operation.start);
                record(&mut self.response, operation.end - operation.intended_start);
            }
            Err(failure) => *self.failures.entry(failure).or_default() += 1,
        }
    }

    /// Adds what `other` has counted.
    pub(crate) fn add(&mut self, other: &OperationStats) {
        for (sum, part) in [
            (&mut self.wait, &other.wait),
            (&mut self.service, &other.service),
            (&mut self.response, &other.response),
        ] {
            sum.add(part).expect(GROWS);
        }
        for (failure, count) in &other.failures {
            *self.failures.entry(*failure).or_default() += count;
        }
        self.lateness = self.lateness.plus(other.lateness);
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        for times in [&mut self.wait, &mut self.service, &mut self.response] {
            times.reset();
        }
        self.failures.clear();
        self.lateness = Lateness::default();
    }

    /// Operations that were started.
    pub(crate) fn started(&self) -> u64 {
        self.wait.len()
    }

    /// Operations that succeeded.
    pub(crate) fn completed(&self) -> u64 {
        self.response.len()
    }

    /// Operations that failed, for any reason.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

fn record(histogram: &mut Histogram<u64>, time: Duration) {
    // 584 years fit. A longer time counts as that.
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.record(nanos).expect(GROWS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::Nanos;

    /// Milliseconds to an operation's moments; the intended start is at 100 ms.
    fn operation(
        worker_free: u64,
        start: u64,
        end: u64,
        outcome: Result<(), Failure>,
    ) -> Operation {
        let at = |ms: u64| Nanos::from_nanos(ms * 1_000_000);
        Operation {
            intended_start: at(100),
            worker_free: at(worker_free),
            start: at(start),
            end: at(end),
            outcome,
        }
    }

    fn stats(operations: &[Operation]) -> OperationStats {
        let mut stats = OperationStats::new();
        for operation in operations {
            stats.record(operation);
        }
        stats
    }

    fn is_ms(histogram: &Histogram<u64>, ms: u64) -> bool {
        histogram.len() == 1 && histogram.equivalent(histogram.max(), ms * 1_000_000)
    }

    #[test]
    fn response_is_wait_plus_service() {
        let stats = stats(&[operation(0, 130, 150, Ok(()))]);
        assert!(is_ms(&stats.wait, 30) && is_ms(&stats.service, 20) && is_ms(&stats.response, 50));
    }

    #[test]
    fn a_failure_is_never_timed_as_a_success() {
        let stats =
            stats(&[operation(0, 130, 150, Err(Failure::Timeout)), operation(0, 100, 101, Ok(()))]);
        assert_eq!((stats.started(), stats.completed(), stats.failed()), (2, 1, 1));
        assert_eq!((stats.service.len(), stats.response.len()), (1, 1));
        assert_eq!(stats.failures[&Failure::Timeout], 1);
    }

    #[test]
    fn lateness_is_put_down_to_the_request_before_as_far_as_that_lasted() {
        for (worker_free, in_requests) in [(0, 0.0), (100, 0.0), (115, 0.5), (130, 1.0)] {
            let share =
                stats(&[operation(worker_free, 130, 150, Ok(()))]).lateness.share_in_requests();
            assert!((share - in_requests).abs() < 1e-9, "free at {worker_free}: {share}");
        }
    }

    #[test]
    fn sums_hold_what_their_parts_hold() {
        let a = stats(&[
            operation(0, 130, 150, Ok(())),
            operation(0, 100, 101, Err(Failure::Status(500))),
        ]);
        let mut sum = a.clone();
        sum.add(&a);
        assert_eq!((sum.started(), sum.completed(), sum.failed()), (4, 2, 2));
        sum.clear();
        assert_eq!((sum.started(), sum.completed(), sum.failed()), (0, 0, 0));
        assert_eq!(sum.lateness, Lateness::default());
    }
}
