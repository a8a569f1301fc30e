//! The sliding window log: exactly so many in any span of one period.

use crate::rejected::room_beside;
use crate::{Quota, Rejected, RollingCount, Rule};
use nanopace::Nanos;
use std::time::Duration;

/// The sliding window log: in *any* span of one period no more than `count` get in. Exact, at the
/// price of remembering each.
///
/// # Law
///
/// A request for n at t gets in where no more than `count` - n got in after t - period. What is
/// rejected is not remembered. The retry time is when enough of what is remembered will be a period
/// old.
///
/// [`counting_rejected`](SlidingLog::counting_rejected) makes the seed's variant: a request gets in
/// where no more than `count` - n *arrived*, admitted or not, after t - period. Who keeps knocking
/// stays out; who stays away for the time told gets in.
///
/// Moments that go backwards count as the latest at which a request arrived. One for nothing, and
/// one for more than `count`, is no arrival.
///
/// # Cost
///
/// Behind a lock ([`Locked`](crate::Locked)): 16 bytes for each moment remembered, at most `count`
/// of them, also in the variant, which forgets what would reject nothing any more. Constant time on
/// average.
///
/// # Source
///
/// The sliding window log of the seed documents.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Limiter, Locked, Rejected, SlidingLog};
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
    /// `quota.count()` in any `quota.period()`.
    #[must_use]
    pub fn new(quota: Quota) -> SlidingLog {
        SlidingLog { quota, counts_rejected: false }
    }

    /// The same, where rejected requests count as well.
    #[must_use]
    pub fn counting_rejected(quota: Quota) -> SlidingLog {
        SlidingLog { quota, counts_rejected: true }
    }
}

impl Rule for SlidingLog {
    /// What was let in within the period, its older end excluded: to whole nanoseconds, an interval
    /// shorter by one.
    type State = RollingCount;

    fn fresh(&self) -> RollingCount {
        RollingCount::new(Duration::from_nanos(self.quota.period_ns() - 1))
    }

    fn most(&self) -> u64 {
        self.quota.count()
    }

    fn advance(&self, state: &mut RollingCount, now: Nanos) {
        state.check(now);
    }

    fn check(&self, state: &RollingCount, _now: Nanos, n: u64) -> Result<(), Rejected> {
        let most = room_beside(n, self.quota.count())?;
        if n == 0 || state.total() <= most {
            return Ok(());
        }
        // Where this one counts too, it is among the `most` that are within the period then.
        let others = if self.counts_rejected { most.checked_sub(n) } else { Some(most) };
        let first = others.map_or_else(|| state.empties(), |others| state.falls_to(others));
        Err(Rejected::NotUntil(first))
    }

    fn debit(&self, state: &mut RollingCount, now: Nanos, n: u64) {
        state.add(now, n);
    }

    fn is_idle(&self, state: &RollingCount, now: Nanos) -> bool {
        state.is_empty_at(now)
    }

    fn decide(&self, state: &mut RollingCount, now: Nanos, n: u64) -> Result<(), Rejected> {
        if n == 0 || n > self.most() {
            return self.check(state, now, n);
        }
        self.advance(state, now);
        let answer = self.check(state, now, n);
        match answer {
            Ok(()) => self.debit(state, now, n),
            Err(Rejected::NotUntil(_)) if self.counts_rejected => {
                state.add(now, n);
                state.keep(self.quota.count());
            }
            Err(_) => {}
        }
        answer
    }
}
