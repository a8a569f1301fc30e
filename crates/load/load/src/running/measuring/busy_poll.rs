//! Decides whether a load thread polls for responses instead of sleeping.
//!
//! A thread whose slots are overdue can start the next slot only when a response arrives. If it sleeps until then, it
//! and a target on the same machine wake each other for each request, and a wake-up can take longer than the request.
//! The thread therefore polls for up to [`LONGEST`] before it sleeps. If no response arrives in this time, the target
//! is slow or needs the core itself. The thread then sleeps without polling: once after the first failure, and twice as
//! often after each further failure, up to [`REST`] times.
//!
//! A thread that is on schedule sleeps at once, because polling would use CPU time and start no slot earlier. A thread
//! with more than [`MOST_CONNECTIONS`] also sleeps at once, because the target has enough requests to stay awake.

use nanopace::Nanos;
use std::mem;
use std::time::Duration;

/// A sleeping target can take about 40 us to wake.
const LONGEST: Duration = Duration::from_micros(50);
const REST: u32 = 256;
pub(super) const MOST_CONNECTIONS: usize = 8;
/// The lateness of a thread's last operation from which the thread polls. This applies to threads without real-time
/// priority in a load with a schedule.
pub(crate) const LATE: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug)]
pub(super) struct BusyPoll {
    pub(super) least_wait: Duration,
    is_late: bool,
    has_answer: bool,
    until: Option<Nanos>,
    /// The number of sleeps without polling that follow the next failure.
    rest: u32,
    /// The number of sleeps without polling that are left.
    left: u32,
}

impl BusyPoll {
    pub(super) fn never() -> BusyPoll {
        let least_wait = Duration::MAX;
        BusyPoll { least_wait, is_late: false, has_answer: false, until: None, rest: 1, left: 0 }
    }

    pub(super) fn starts(&mut self, wait_time: Duration) {
        self.is_late = wait_time >= self.least_wait;
    }

    pub(super) fn ends(&mut self) {
        self.has_answer = true;
    }

    pub(super) fn polls(&mut self, now: Nanos) -> bool {
        if mem::take(&mut self.has_answer) {
            if self.until.take().is_some() {
                self.rest = 1;
            }
            let begins = self.is_late && self.left == 0;
            self.left = self.left.saturating_sub(1);
            self.until = begins.then(|| now + LONGEST);
        } else if self.until.take_if(|until| *until <= now).is_some() {
            self.left = self.rest;
            self.rest = REST.min(2 * self.rest);
        }
        self.until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late() -> BusyPoll {
        let mut poll = BusyPoll { least_wait: LATE, ..BusyPoll::never() };
        poll.starts(LATE);
        poll
    }

    #[test]
    fn a_thread_polls_until_a_response_arrives_or_the_time_is_over() {
        let mut poll = late();
        assert!(!poll.polls(Nanos::ZERO), "no response yet");
        poll.ends();
        assert!(poll.polls(Nanos::ZERO));
        assert!(poll.polls(Nanos::ZERO + LONGEST - Duration::from_nanos(1)));
        poll.ends();
        assert!(poll.polls(Nanos::ZERO + LONGEST));
        assert!(poll.polls(Nanos::ZERO + LONGEST * 2 - Duration::from_nanos(1)));
        assert!(!poll.polls(Nanos::ZERO + LONGEST * 2));
    }

    #[test]
    fn a_thread_on_schedule_sleeps_at_once() {
        let mut poll = late();
        poll.starts(LATE.saturating_sub(Duration::from_nanos(1)));
        poll.ends();
        assert!(!poll.polls(Nanos::ZERO));
    }

    #[test]
    fn a_slow_target_costs_less_than_a_percent_of_its_time() {
        let (mut poll, mut now, mut polled) = (late(), Nanos::ZERO, Duration::ZERO);
        let response = LONGEST * 2;
        for _ in 0..100_000 {
            poll.ends();
            if poll.polls(now) {
                polled += LONGEST;
                assert!(!poll.polls(now + LONGEST));
            }
            now = now + response;
        }
        assert!(polled * 100 < now - Nanos::ZERO, "{polled:?}");
    }

    #[test]
    fn a_fast_target_is_polled_after_each_response_once_an_attempt_has_succeeded() {
        let (mut poll, mut now) = (late(), Nanos::ZERO);
        for _ in 0..1_000 {
            poll.ends();
            poll.polls(now);
            now = now + LONGEST;
            poll.polls(now);
        }
        let tried = (0..=REST).position(|_| {
            poll.ends();
            poll.polls(now)
        });
        assert!(tried.is_some());
        for _ in 0..1_000 {
            poll.ends();
            assert!(poll.polls(now));
        }
    }
}
