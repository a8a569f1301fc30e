//! The sliding window counter: this window, and the part of the last one that is still in sight.

use crate::window_counts::{WindowCounts, window_rule};
use crate::{Quota, QuotaError};
use nanopace_nanos::Nanos;

/// The sliding window counter. It counts what the current window has let in, and the part of the
/// window before that is less than a period ago. This comes close to the
/// [`SlidingLog`](crate::SlidingLog), in one word.
///
/// # Law
///
/// Say the current window has let in c, the window before let in p, and the part e of the current
/// window has gone by. A request for n gets in if p (1 - e) + c + n <= `count`. This is computed in
/// whole numbers, without rounding. A request from before the latest window counts as made at that
/// window's beginning.
///
/// The rule supposes that the requests of the window before came evenly. If they did not, more than
/// `count` may get in within one period, but fewer than twice as many: a period lies across two
/// windows at most, and each of them lets in at most `count`.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): the window's number above, both counts below. A decision
/// takes three multiplications, a division and one compare-and-swap. The bits that the number
/// leaves bound `count`:
///
/// | period | largest `count` |
/// |---|---|
/// | 1 ms | 1 023 |
/// | 100 ms | 8 191 |
/// | 1 s | 32 767 |
/// | 10 s | 131 071 |
/// | 1 min | 262 143 |
/// | 1 h | 2 097 151 |
/// | 1 day | 8 388 607 |
///
/// For more, take a [`Limit`](crate::Limit), which keeps such counts in three words, a
/// [`SlottedRing`](crate::SlottedRing), or a [`SlidingLog`](crate::SlidingLog) if it has to be exact.
///
/// # Source
///
/// J. Desgats, "How we built rate limiting capable of scaling to millions of domains", the
/// Cloudflare blog, 2017.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, TryAcquire, Rejected, SlidingCounter};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Atomic::new(SlidingCounter::new("10/s".parse()?)?);
/// assert_eq!(limiter.try_acquire_n_at(9, at(500)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Ok(())); // 9 x 1 + 0 + 1
/// let retry = Nanos::from_nanos(1_111_111_112);
/// assert_eq!(limiter.try_acquire_at(at(1_100)), Err(Rejected::NotUntil(retry)));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingCounter {
    counts: WindowCounts<true>,
}

impl SlidingCounter {
    /// Lets in `quota.count()` in any `quota.period()`, nearly.
    ///
    /// # Errors
    /// [`QuotaError::TooManyForAWord`] if two such counts do not fit beside the window's number; the
    /// table above says what does.
    ///
    /// ```
    /// use nanopace_limits::{QuotaError, SlidingCounter};
    ///
    /// assert!(SlidingCounter::new("1000/s".parse()?).is_ok());
    /// let error = SlidingCounter::new("1M/s".parse()?).unwrap_err();
    /// assert_eq!(error, QuotaError::TooManyForAWord { most: (1 << 15) - 1 });
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn new(quota: Quota) -> Result<SlidingCounter, QuotaError> {
        Ok(SlidingCounter { counts: WindowCounts::new(quota)? })
    }

    /// When `n` more get in, if not at once.
    #[inline]
    fn first(&self, state: u64, now: Nanos, n: u64) -> Option<Nanos> {
        let WindowCounts { windows, limit, .. } = &self.counts;
        self.counts.latest(state, now).slides_in(windows, *limit, now, n)
    }
}

window_rule!(SlidingCounter);
