//! Lateness, and how much of it was spent inside requests.

use nanopace_console::human::float;
use std::time::Duration;

/// Seconds of wait time, summed over operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lateness {
    /// All of it.
    pub(crate) total: f64,
    /// The part in which the worker that started the operation was still busy with the operation
    /// before it.
    pub(crate) in_requests: f64,
}

impl Lateness {
    /// Adds the `wait` of one operation, whose worker was in the request before for `in_request` of
    /// it.
    pub(crate) fn add(&mut self, wait: Duration, in_request: Duration) {
        self.total += wait.as_secs_f64();
        self.in_requests += in_request.min(wait).as_secs_f64();
    }

    /// The lateness of `slots` that no worker has started. The oldest has been due for `backlog`.
    pub(crate) fn of_unstarted(slots: u64, backlog: Duration, all_workers_busy: bool) -> Lateness {
        // They fell due evenly over the backlog, so on average they are late by half of it.
        let total = float(slots) * backlog.as_secs_f64() / 2.0;
        Lateness { total, in_requests: if all_workers_busy { total } else { 0.0 } }
    }

    /// The lateness that a policy has forgiven, `idle` in total. It is in no wait time, but starts
    /// were late by it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
