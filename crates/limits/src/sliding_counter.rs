//! The sliding window counter: the window before, weighted by how much of it is still in sight.

use crate::window_counts::{WindowCounts, window_rule};
use crate::{Quota, QuotaError};
use nanopace::Nanos;
use std::time::Duration;

/// The sliding window counter: what the current window has let in, and of the one before as large a
/// part as is less than a period ago. Nearly the [`SlidingLog`](crate::SlidingLog), in one word.
///
/// # Law
///
/// In a window of the clock that has let in c, after one that has let in p, with the part e of the
/// window gone by: a request for n gets in where p (1 - e) + c + n <= `count`. Computed in whole
/// numbers, without rounding. A request from an earlier moment than the latest window's beginning
/// counts as made then.
///
/// It supposes that the previous window's requests came evenly. Where they did not, more than
/// `count` may get in within one period: fewer than twice as many, as each of the two windows it
/// lies across lets in `count` at most.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number above, both counts below. Per decision
/// three multiplications and one compare-and-swap; a division when rejected. What the number leaves
/// of 64 bits bounds `count`: for windows of a second 2^15 - 1, of an hour 2^20 - 1.
///
/// # Source
///
/// The sliding window counter of the seed documents: a limit of 10, 9 before and 5 now, at a
/// quarter of the window weigh 9 x 0.75 + 5 = 11.75, and a request is rejected.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, Limiter, Rejected, SlidingCounter};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Atomic::new(SlidingCounter::new("10/s".parse()?)?);
/// assert_eq!(limiter.try_acquire_n_at(9, at(500)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(())); // 9 x 1 + 0 + 1
/// assert_eq!(limiter.try_acquire_at(at(1_100)), Err(Rejected::NotUntil(Nanos::from_nanos(1_111_111_112))));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingCounter {
    counts: WindowCounts<true>,
}

impl SlidingCounter {
    /// `quota.count()` in any `quota.period()`, nearly.
    ///
    /// # Errors
    /// [`QuotaError::TooManyForAWord`] where two such counts do not fit beside the window's number.
    pub fn new(quota: Quota) -> Result<SlidingCounter, QuotaError> {
        Ok(SlidingCounter { counts: WindowCounts::new(quota)? })
    }

    /// When `n` more get in, if not at once.
    fn first(&self, state: u64, now: Nanos, n: u64) -> Option<Nanos> {
        let counts = self.counts.latest(state, now);
        let start = self.counts.windows.start(counts.number);
        if let Some(earliest_ns) = self.earliest_ns(counts.before, counts.now, n) {
            // May be past the last moment there is; then it is later than any `now`.
            let earliest = start.as_nanos() + earliest_ns;
            let is_later = earliest > now.max(start).as_nanos();
            return is_later.then(|| Nanos::from_nanos(earliest));
        }
        let next = self.counts.windows.start(counts.number + 1);
        let earliest_ns = self.earliest_ns(counts.now, 0, n).unwrap_or_default();
        Some(next + Duration::from_nanos(earliest_ns))
    }

    /// How far into a window of `now`, after one of `before`, `n` more get in: p (T - t) + (c + n)
    /// T <= limit T, for the least t.
    fn earliest_ns(&self, before: u64, now: u64, n: u64) -> Option<u64> {
        let length = u128::from(self.counts.windows.length_ns());
        let room = u128::from(self.counts.limit.checked_sub(now + n)?);
        let unseen = (room * length)
            .checked_div(u128::from(before))
            .map_or(length, |unseen| unseen.min(length));
        u64::try_from(length - unseen).ok()
    }
}

window_rule!(SlidingCounter);
