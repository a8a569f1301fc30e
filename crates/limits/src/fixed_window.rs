//! The fixed window counter: so many in each window of the clock.

use crate::windows::Windows;
use crate::{Quota, Refused, Rule};
use nanopace::Nanos;

/// The fixed window counter: time is cut into windows of one period, counted from the clock's
/// origin, and each lets in up to `count`.
///
/// # Law
///
/// A request for n in a window that has let in c gets in where c + n <= `count`. A request from an
/// earlier window than the latest counts in the latest.
///
/// So each window lets in `count` at most, but a span of the same length may lie across two of
/// them: up to **twice** `count` get in within one period, the end of one window and the beginning
/// of the next. That is the price of one word and one addition;
/// [`SlidingCounter`](crate::SlidingCounter) smooths it, [`SlidingLog`](crate::SlidingLog) has no
/// such edge.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number above, the count below. Per decision
/// one multiplication and one compare-and-swap. Both always fit: number times period is below 2^63
/// ns, and a quota counts no more than one per nanosecond.
///
/// # Source
///
/// The fixed window counter of the seed documents.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, FixedWindow, Limiter, Refused};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Atomic::new(FixedWindow::new("2/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(2, at(999)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(999)), Err(Refused::NotUntil(at(1_000))));
/// assert_eq!(limiter.try_acquire_n_at(2, at(1_000)), Ok(())); // four within a millisecond
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    windows: Windows,
    limit: u64,
}

impl FixedWindow {
    /// `quota.count()` in each window of `quota.period()`.
    #[must_use]
    pub fn new(quota: Quota) -> FixedWindow {
        FixedWindow { windows: Windows::new(quota.period_ns()), limit: quota.count() }
    }

    /// The latest window seen by then, and how many it has let in.
    fn latest(&self, state: u64, now: Nanos) -> (u64, u64) {
        let (number, count) = self.windows.unpack(state);
        let current = self.windows.number(now);
        if current > number { (current, 0) } else { (number, count) }
    }
}

impl Rule for FixedWindow {
    /// The number of the latest window that let anything in, and beside it how many; 0 at first.
    type State = u64;

    fn fresh(&self) -> u64 {
        0
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, _state: &mut u64, _now: Nanos) {}

    fn check(&self, state: &u64, now: Nanos, n: u64) -> Result<(), Refused> {
        let (number, count) = self.latest(*state, now);
        match n {
            n if n > self.limit => Err(Refused::ExceedsCapacity { capacity: self.limit }),
            n if n == 0 || count + n <= self.limit => Ok(()),
            _ => Err(Refused::NotUntil(self.windows.start(number + 1))),
        }
    }

    fn debit(&self, state: &mut u64, now: Nanos, n: u64) {
        if n > 0 {
            let (number, count) = self.latest(*state, now);
            *state = self.windows.pack(number, count + n);
        }
    }

    fn is_idle(&self, state: &u64, now: Nanos) -> bool {
        self.latest(*state, now).1 == 0
    }
}
