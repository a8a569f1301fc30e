//! The sliding window counter: the current window, and the share of the previous window that is less than a period ago.

use super::windows::{Counts, Windows};
use crate::rules::room_beside;
use crate::{Quota, Rejected, Rule};
use nanopace_nanos::Nanos;

/// The sliding window counter. It counts the requests of the current window, and a share of the requests of the
/// previous window. This share equals the part of the previous window that lies within the last period. The result is
/// close to that of the [`SlidingLog`](crate::SlidingLog), in three words.
///
/// # Law
///
/// Say the current window has admitted c requests, the previous window has admitted p, and e is the fraction of the
/// current window that has passed. A request for n is admitted if p (1 - e) + c + n <= `count`. This is computed in
/// whole numbers, without rounding. A request from before the latest window counts as made at that window's beginning.
///
/// The rule assumes that the requests of the previous window were spread evenly. If they were not, more than `count`
/// may be admitted within one period, but fewer than twice `count`.
///
/// # Cost
///
/// Three words, guarded by a lock ([`Locked`](crate::Locked)): the window's number and both counts. A decision takes a
/// few multiplications and up to two divisions.
///
/// # Source
///
/// J. Desgats, "How we built rate limiting capable of scaling to millions of domains", the Cloudflare blog, 2017.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Locked, Rejected, SlidingCounter, TryAcquire};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Locked::new(SlidingCounter::new("10/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(9, at(500)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(())); // 9 x 1 + 0 + 1
/// let retry = Nanos::from_nanos(1_111_111_112);
/// assert_eq!(limiter.try_acquire_at(at(1_100)), Err(Rejected::NotUntil(retry)));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingCounter {
    windows: Windows,
    limit: u64,
}

impl SlidingCounter {
    /// Creates a rule that admits about `quota.count()` requests in any `quota.period()`.
    #[must_use]
    pub fn new(quota: Quota) -> SlidingCounter {
        SlidingCounter { windows: Windows::new(quota.period_ns()), limit: quota.count() }
    }

    fn latest(&self, counts: Counts, now: Nanos) -> Counts {
        counts.in_window(self.windows.number(now))
    }

    pub(crate) fn let_in(&self, counts: Counts, now: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        self.latest(counts, now).let_in(&self.windows, now)
    }

    /// Returns the state for these counts. A window after the last possible one counts as the last one.
    pub(crate) fn state(&self, counts: Counts) -> Counts {
        Counts { number: self.windows.at_most_last(counts.number), ..counts }
    }
}

impl Rule for SlidingCounter {
    /// The number of the latest window that admitted anything, and the counts of this window and the one before it.
    type State = Counts;

    fn fresh(&self) -> Counts {
        Counts::default()
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn advance(&self, _counts: &mut Counts, _now: Nanos) {}

    fn peek(&self, counts: &Counts, now: Nanos, n: u64) -> Result<(), Rejected> {
        room_beside(n, self.limit)?;
        let counts = self.latest(*counts, now);
        let first = if n == 0 { None } else { counts.slides_in(&self.windows, self.limit, now, n) };
        first.map_or(Ok(()), |first| Err(Rejected::NotUntil(first)))
    }

    fn debit(&self, counts: &mut Counts, now: Nanos, n: u64) {
        if n > 0 {
            let latest = self.latest(*counts, now);
            *counts = Counts { now: latest.now.saturating_add(n), ..latest };
        }
    }

    fn idle_from(&self, counts: &Counts) -> Nanos {
        self.windows.start(counts.number + counts.in_sight())
    }
}
