//! The fixed window counter: so many in each window of the clock.

use crate::Quota;
use crate::window_counts::{WindowCounts, window_rule};
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
/// use nanopace_limits::{Atomic, FixedWindow, Limiter, Rejected};
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
    /// `quota.count()` in each window of `quota.period()`.
    ///
    /// # Panics
    /// Never: every quota's count fits beside its window's number.
    #[must_use]
    pub fn new(quota: Quota) -> FixedWindow {
        FixedWindow { counts: WindowCounts::new(quota).expect("one count always fits") }
    }

    /// When `n` more get in, if not at once.
    fn first(&self, state: u64, now: Nanos, n: u64) -> Option<Nanos> {
        let counts = self.counts.latest(state, now);
        let fits = counts.now + n <= self.counts.limit;
        (!fits).then(|| self.counts.windows.start(counts.number + 1))
    }
}

window_rule!(FixedWindow);
