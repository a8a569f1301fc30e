//! The sliding window log: no more than `count` requests in any span of one period.

use crate::rules::room_beside;
use crate::{Quota, Rejected, RollingCount, Rule, Standing};
use core::time::Duration;
use nanopace_nanos::Nanos;

/// The sliding window log. It admits at most `count` requests in *any* span of one period, and stores each request.
///
/// # Law
///
/// A request for n at t is admitted if at most `count` - n were admitted after t - period. Rejected requests are not
/// remembered. The retry time is the moment at which enough of the remembered requests are one period old.
///
/// [`counting_rejected`](SlidingLog::counting_rejected) makes a variant: a request is admitted if at most `count` - n
/// *arrived* after t - period, whether they were admitted or not. A caller that keeps making more than `count` requests
/// per period stays rejected. A request that is repeated at its retry time is admitted, if no other request arrived in
/// between.
///
/// A moment before the latest arrival counts as the latest. Requests of zero or of more than `count` are not arrivals.
///
/// # Cost
///
/// A lock ([`Locked`](crate::Locked)), and 16 bytes for each of at most `count` moments. The variant needs no more,
/// because it forgets requests that can no longer cause a rejection. An admission takes constant time on average. A
/// rejection iterates over moments until the request fits.
///
/// # Source
///
/// The sliding window log as in N. Mahdi, "An alternative approach to rate limiting", the Figma blog, 2017.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{TryAcquire, Locked, Rejected, SlidingLog};
/// use std::time::Duration;
///
/// let at = |millis| Nanos::ZERO + Duration::from_millis(millis);
/// let limiter = Locked::new(SlidingLog::new("2/s".parse()?));
/// assert_eq!(limiter.try_acquire_n_at(2, at(999)), Ok(()));
/// assert_eq!(limiter.try_acquire_at(at(1_000)), Err(Rejected::NotUntil(at(1_999))));
/// assert_eq!(limiter.try_acquire_at(at(1_999)), Ok(()));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlidingLog {
    quota: Quota,
    counts_rejected: bool,
}

impl SlidingLog {
    /// Creates a rule that admits at most `quota.count()` requests in any `quota.period()`.
    #[must_use]
    pub fn new(quota: Quota) -> SlidingLog {
        SlidingLog { quota, counts_rejected: false }
    }

    /// Creates a sliding log that also counts rejected requests.
    #[must_use]
    pub fn counting_rejected(quota: Quota) -> SlidingLog {
        SlidingLog { quota, counts_rejected: true }
    }

    pub(crate) fn retry_elsewhere(
        &self,
        state: &RollingCount,
        now: Nanos,
        n: u64,
    ) -> Option<Nanos> {
        let others = self.quota.count().checked_sub(n)?.checked_sub(n);
        let counts = self.counts_rejected && n > 0;
        let fits = others.is_some_and(|others| state.total_at(now) <= others);
        (counts && !fits).then(|| with_this_one(state, now, others))
    }

    #[cfg(feature = "std")]
    pub(crate) fn check_uncounted(
        &self,
        state: &RollingCount,
        now: Nanos,
        n: u64,
    ) -> Result<(), Rejected> {
        SlidingLog::new(self.quota).peek(state, now, n)
    }

    pub(crate) fn counts_rejected(&self) -> bool {
        self.counts_rejected
    }
}

impl Rule for SlidingLog {
    /// The counted requests of the last period. The older end of the period is excluded, so the interval of the count
    /// is 1 ns shorter than the period.
    type State = RollingCount;

    fn fresh(&self) -> RollingCount {
        RollingCount::new(Duration::from_nanos(self.quota.period_ns() - 1))
    }

    fn most(&self) -> u64 {
        self.quota.count()
    }

    fn advance(&self, state: &mut RollingCount, now: Nanos) {
        state.advance(now);
    }

    fn peek(&self, state: &RollingCount, now: Nanos, n: u64) -> Result<(), Rejected> {
        let most = room_beside(n, self.quota.count())?;
        if n == 0 || state.total_at(now) <= most {
            return Ok(());
        }
        if !self.counts_rejected {
            return Err(Rejected::NotUntil(state.falls_to(most)));
        }
        // This request is counted too, so at most `most - n` earlier requests may still count when it is retried.
        Err(Rejected::NotUntil(with_this_one(state, now, most.checked_sub(n))))
    }

    fn debit(&self, state: &mut RollingCount, now: Nanos, n: u64) {
        state.add(now, n);
    }

    fn idle_from(&self, state: &RollingCount) -> Nanos {
        state.empty_from()
    }

    fn remaining(&self, state: &RollingCount, now: Nanos) -> u64 {
        self.quota.count().saturating_sub(state.total_at(now))
    }

    /// Returns the standing. Its reset time is not a retry time of [`peek`](Rule::peek): if rejected requests count, a
    /// retry time includes the request that is rejected now.
    fn standing(&self, state: &RollingCount, now: Nanos) -> Standing {
        let (limit, remaining) = (self.quota.count(), self.remaining(state, now));
        let reset = if remaining < limit { state.falls_to(0) - now } else { Duration::ZERO };
        Standing { limit, remaining, reset }
    }

    fn refuse(&self, state: &mut RollingCount, now: Nanos, n: u64) {
        if self.counts_rejected {
            state.add(now, n);
            state.keep(self.quota.count());
        }
    }
}

/// Returns the retry time of a request that is itself counted at `now`. At that time, at most `others` earlier requests
/// still count. If `others` is `None`, the retry time is the moment at which the request itself no longer counts.
fn with_this_one(state: &RollingCount, now: Nanos, others: Option<u64>) -> Nanos {
    others.map_or_else(|| state.empties(now), |others| state.falls_to(others))
}
