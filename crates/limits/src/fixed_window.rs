//! The fixed window counter: up to `count` requests in each window of the clock.

use crate::Quota;
use crate::counts::Counts;
use crate::window_counts::{WindowCounts, window_rule};
use nanopace_nanos::Nanos;

/// The fixed window counter. Time is cut into windows of one period, counted from the clock's
/// origin, and each window lets in up to `count`.
///
/// # Law
///
/// A request for n gets in if its window has let in c so far and c + n <= `count`. A request from
/// an earlier window than the latest one counts in the latest.
///
/// So each window lets in at most `count`. But a span of the same length can lie across two
/// windows. Up to **twice** `count` get in within one period, at the end of one window and the
/// beginning of the next. That is the price of one word and one addition.
/// [`SlidingCounter`](crate::SlidingCounter) smooths this edge, and
/// [`SlidingLog`](crate::SlidingLog) does not have it.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number above, the count below. A decision
/// takes one multiplication and one compare-and-swap. The word is always large enough: number times
/// period is below 2^63 ns, and a quota is at most one request per nanosecond.
///
/// # Source
///
/// The pattern "rate limiter" in the documentation of the `INCR` command of Redis.
///
/// ```
/// use nanopace::Nanos;
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
    counts: WindowCounts<false>,
}

impl FixedWindow {
    /// Lets `quota.count()` in during each window of `quota.period()`.
    ///
    /// # Panics
    /// Never: the count of any quota fits beside its window's number.
    ///
    /// ```
    /// use nanopace_limits::{FixedWindow, Rule};
    ///
    /// assert_eq!(FixedWindow::new("100/min".parse()?).most(), 100);
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn new(quota: Quota) -> FixedWindow {
        FixedWindow { counts: WindowCounts::new(quota).expect("one count always fits") }
    }

    /// When `n` more get in, if not at once.
    #[inline]
    fn first(&self, state: u64, now: Nanos, n: u64) -> Option<Nanos> {
        let counts = self.counts.latest(state, now);
        let fits = counts.now + n <= self.counts.limit;
        (!fits).then(|| self.counts.windows.start(counts.number + 1))
    }

    /// The largest count that a state can hold.
    pub(crate) fn largest_count(&self) -> u64 {
        self.counts.most()
    }

    /// The counts of the latest window that was seen.
    pub(crate) fn seen(&self, state: u64) -> Counts {
        self.counts.seen(state)
    }

    /// The state with these counts, if they fit.
    pub(crate) fn state(&self, counts: Counts) -> Option<u64> {
        let fits = counts.before == 0 && counts.now <= self.largest_count();
        (fits && self.counts.windows.has(counts.number)).then(|| self.counts.pack(counts))
    }

    /// What still counts at `now`: the latest moment at which it may have been let in, and how much
    /// it is.
    pub(crate) fn let_in(&self, state: u64, now: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        self.counts.latest(state, now).let_in(&self.counts.windows, now)
    }

    /// The state without `n` that were counted in that window.
    pub(crate) fn without(&self, state: u64, window: u64, n: u64) -> u64 {
        self.counts.pack(self.seen(state).without(window, n))
    }
}

window_rule!(FixedWindow);
