//! What is counted about operations, by one worker or by all of them.

use crate::client::Failure;
use hdrhistogram::Histogram;
use nanopace::Nanos;
use nanopace_console::human::float;
use std::collections::BTreeMap;
use std::time::Duration;

const GROWS: &str = "a histogram without a given range grows as needed";

/// One operation from its slot to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// When the schedule wanted it to start.
    pub(crate) intended_start: Nanos,
    /// When its worker was done with the operation before.
    pub(crate) worker_free: Nanos,
    /// When it started.
    pub(crate) start: Nanos,
    /// When it ended, well or not.
    pub(crate) end: Nanos,
    /// How it ended.
    pub(crate) outcome: Result<(), Failure>,
}

/// Times in nanoseconds and counts of any number of operations.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// Of every operation: how late it started.
    pub(crate) wait: Histogram<u64>,
    /// Of every completed operation: how long it took. What a closed-loop tool reports.
    pub(crate) service: Histogram<u64>,
    /// Of every completed operation: how long after its intended start it was done.
    pub(crate) response: Histogram<u64>,
    /// The operations that failed; they have a wait time and no other.
    pub(crate) failures: BTreeMap<Failure, u64>,
    /// What the lateness was spent on.
    pub(crate) lateness: Lateness,
}

/// Seconds of wait time, summed over operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lateness {
    /// All of it.
    pub(crate) total: f64,
    /// The part in which the worker that started the operation at last was still inside the one
    /// before.
    pub(crate) in_requests: f64,
}

impl Tally {
    /// Nothing counted; times are kept to 3 significant digits, whatever their size.
    pub(crate) fn new() -> Tally {
        let histogram =
            Histogram::new(3).expect("3 is a number of digits that a histogram can have");
        Tally {
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

    /// Counts what `other` has counted.
    pub(crate) fn add(&mut self, other: &Tally) {
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

    /// Operations that came to a good end.
    pub(crate) fn completed(&self) -> u64 {
        self.response.len()
    }

    /// Operations that failed, for any reason.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

impl Lateness {
    fn add(&mut self, wait: Duration, in_request: Duration) {
        self.total += wait.as_secs_f64();
        self.in_requests += in_request.min(wait).as_secs_f64();
    }

    /// What `slots` that nobody has started are late by, the oldest of them due for `backlog`.
    pub(crate) fn of_unstarted(slots: u64, backlog: Duration, all_workers_busy: bool) -> Lateness {
        // They fell due evenly over the backlog, so they are late by half of it on average.
        let total = float(slots) * backlog.as_secs_f64() / 2.0;
        Lateness { total, in_requests: if all_workers_busy { total } else { 0.0 } }
    }

    /// What a policy has forgiven, `idle` altogether: nobody's wait time holds that, but somebody
    /// came late by it.
    pub(crate) fn of_forfeited(idle: Duration, all_workers_busy: Duration) -> Lateness {
        Lateness {
            total: idle.as_secs_f64(),
            in_requests: all_workers_busy.min(idle).as_secs_f64(),
        }
    }

    /// Both together.
    pub(crate) fn plus(self, other: Lateness) -> Lateness {
        Lateness {
            total: self.total + other.total,
            in_requests: self.in_requests + other.in_requests,
        }
    }

    /// The share of the lateness that passed inside requests; 0 if nothing was late.
    pub(crate) fn share_in_requests(&self) -> f64 {
        if self.total > 0.0 { self.in_requests / self.total } else { 0.0 }
    }
}

fn record(histogram: &mut Histogram<u64>, time: Duration) {
    // 584 years fit; a longer time is counted as that.
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.record(nanos).expect(GROWS);
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn tally(operations: &[Operation]) -> Tally {
        let mut tally = Tally::new();
        for operation in operations {
            tally.record(operation);
        }
        tally
    }

    fn is_ms(histogram: &Histogram<u64>, ms: u64) -> bool {
        histogram.len() == 1 && histogram.equivalent(histogram.max(), ms * 1_000_000)
    }

    #[test]
    fn response_is_wait_plus_service() {
        let tally = tally(&[operation(0, 130, 150, Ok(()))]);
        assert!(is_ms(&tally.wait, 30) && is_ms(&tally.service, 20) && is_ms(&tally.response, 50));
    }

    #[test]
    fn a_failure_is_never_timed_as_a_success() {
        let tally =
            tally(&[operation(0, 130, 150, Err(Failure::Timeout)), operation(0, 100, 101, Ok(()))]);
        assert_eq!((tally.started(), tally.completed(), tally.failed()), (2, 1, 1));
        assert_eq!((tally.service.len(), tally.response.len()), (1, 1));
        assert_eq!(tally.failures[&Failure::Timeout], 1);
    }

    #[test]
    fn lateness_is_put_down_to_the_request_before_as_far_as_that_lasted() {
        for (worker_free, in_requests) in [(0, 0.0), (100, 0.0), (115, 0.5), (130, 1.0)] {
            let share =
                tally(&[operation(worker_free, 130, 150, Ok(()))]).lateness.share_in_requests();
            assert!((share - in_requests).abs() < 1e-9, "free at {worker_free}: {share}");
        }
    }

    #[test]
    fn unstarted_slots_are_put_down_to_busy_workers() {
        for (busy, share) in [(true, 1.0), (false, 0.0)] {
            let lateness = Lateness::of_unstarted(10, Duration::from_secs(2), busy);
            assert!((lateness.total - 10.0).abs() < 1e-9);
            assert!((lateness.share_in_requests() - share).abs() < 1e-9);
        }
    }

    #[test]
    fn forfeited_time_is_put_down_to_requests_as_far_as_nobody_was_free() {
        for (busy_ms, share) in [(0, 0.0), (500, 0.25), (2_000, 1.0), (5_000, 1.0)] {
            let lateness =
                Lateness::of_forfeited(Duration::from_secs(2), Duration::from_millis(busy_ms));
            assert!((lateness.share_in_requests() - share).abs() < 1e-9, "{busy_ms}");
        }
    }

    #[test]
    fn sums_hold_what_their_parts_hold() {
        let a = tally(&[
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
