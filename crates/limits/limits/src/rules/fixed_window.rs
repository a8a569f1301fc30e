//! The fixed window counter: up to `count` requests in each window of the clock.

use super::windows::{Counts, Windows};
use crate::rules::room_beside;
use crate::{Quota, Rejected, Rule};
use nanopace_nanos::Nanos;

/// The fixed window counter. Time is divided into windows of one period, counted from the clock's origin, and each
/// window admits up to `count` requests.
///
/// # Law
///
/// A request for n is admitted if c + n <= `count`, where c is the number of requests that its window has admitted so
/// far. A request from an earlier window than the latest one counts in the latest.
///
/// So each window admits at most `count`. But a span of the same length can include parts of two windows: up to
/// **twice** `count` are admitted within one period, at the end of one window and the beginning of the next.
/// [`SlidingCounter`](crate::SlidingCounter) admits fewer than that, and [`SlidingLog`](crate::SlidingLog) at most
/// `count` in any period.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number in the high bits, the count in the low bits. An admission
/// takes one multiplication and one compare-and-swap. The word is always large enough: number times period is below
/// 2^63 ns, and a quota is at most one request per nanosecond.
///
/// # Source
///
/// The pattern "rate limiter" in the documentation of the `INCR` command of Redis.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, FixedWindow, TryAcquire, Rejected};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Atomic::new(FixedWindow::new("2/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(2, at(999)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(999)), Err(Rejected::NotUntil(at(1_000))));
/// assert_eq!(limiter.try_acquire_n_at(2, at(1_000)), Ok(())); // four within a millisecond
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    windows: Windows,
    limit: u64,
}

impl FixedWindow {
    /// Creates a rule that admits at most `quota.count()` requests in each window of `quota.period()`.
    #[must_use]
    pub fn new(quota: Quota) -> FixedWindow {
        FixedWindow { windows: Windows::new(quota.period_ns()), limit: quota.count() }
    }

    pub(crate) fn largest_count(&self) -> u64 {
        self.windows.most()
    }

    #[inline]
    pub(crate) fn seen(&self, state: u64) -> Counts {
        let (number, now) = self.windows.unpack(state);
        Counts { number, before: 0, now }
    }

    #[inline]
    fn latest(&self, state: u64, now: Nanos) -> Counts {
        Counts { before: 0, ..self.seen(state).in_window(self.windows.number(now)) }
    }

    /// Returns the word for these counts. Caps the window's number and the count, because imported values may not fit
    /// into the word.
    pub(crate) fn state(&self, counts: Counts) -> u64 {
        let number = self.windows.at_most_last(counts.number);
        self.pack(Counts { number, now: counts.now.min(self.largest_count()), ..counts })
    }

    #[inline]
    fn pack(&self, counts: Counts) -> u64 {
        self.windows.pack(counts.number, counts.now)
    }

    pub(crate) fn let_in(&self, state: u64, now: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        self.latest(state, now).let_in(&self.windows, now)
    }

    pub(crate) fn without(&self, state: u64, window: u64, n: u64) -> u64 {
        self.pack(self.seen(state).without(window, n))
    }
}

impl Rule for FixedWindow {
    /// The number of the latest window that admitted anything, and its count; 0 at first.
    type State = u64;

    fn fresh(&self) -> u64 {
        0
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, _state: &mut u64, _now: Nanos) {}

    #[inline]
    fn peek(&self, state: &u64, now: Nanos, n: u64) -> Result<(), Rejected> {
        let most = room_beside(n, self.limit)?;
        let counts = self.latest(*state, now);
        if n == 0 || counts.now <= most {
            return Ok(());
        }
        Err(Rejected::NotUntil(self.windows.start(counts.number + 1)))
    }

    #[inline]
    fn debit(&self, state: &mut u64, now: Nanos, n: u64) {
        if n > 0 {
            let counts = self.latest(*state, now);
            // Other limits may have admitted more requests than the word can count.
            let sum = counts.now.saturating_add(n).min(self.largest_count());
            *state = self.pack(Counts { now: sum, ..counts });
        }
    }

    fn idle_from(&self, state: &u64) -> Nanos {
        let counts = self.seen(*state);
        self.windows.start(counts.number + u64::from(counts.now > 0))
    }
}
