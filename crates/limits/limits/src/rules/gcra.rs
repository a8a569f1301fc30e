//! The generic cell rate algorithm (GCRA) in one integer.

use super::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};

/// The generic cell rate algorithm (GCRA), also called cooldown. Each admitted request adds one interval to a debt of
/// time, which is paid off as the clock advances. The debt may not exceed `burst` intervals. One integer is the whole
/// state.
///
/// # Law
///
/// Take a quota of `count` per `period` T, a burst of B, and the interval I = T / `count`. The state is the
/// *theoretical arrival time* S, which is 0 at first. A request for n at `now` computes max(S, `now`) + n I. If the
/// result is more than `now` + B I, the request is rejected and nothing changes. Otherwise the result is the new S.
///
/// So up to B requests are admitted at once after a long enough idle time. In any span of length L, at most B + L / I
/// are admitted, however the requests arrive. With [`new`](Gcra::new) the burst is `count`, so nearly twice `count` can
/// be admitted within one period. If that is too many, use a rule that counts, such as
/// [`SlidingLog`](crate::SlidingLog).
///
/// The interval is exact if it is a whole number of nanoseconds. Otherwise a decision is early or late by less than 2
/// ns, so the bound holds for an L that is longer by 2 ns. The error does not accumulate.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): up to two multiplications and a compare-and-swap. If the interval is not a
/// whole number of nanoseconds, a rejection also divides.
///
/// # Source
///
/// Virtual scheduling algorithm, ITU-T Recommendation I.371 and ATM Forum Traffic Management Specification 4.0.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, Gcra, TryAcquire, Rejected};
/// use std::time::Duration;
///
/// let at = |seconds| Nanos::ZERO + Duration::from_secs(seconds);
/// let limiter = Atomic::new(Gcra::new("3/60s".parse()?));
/// for _ in 0..3 {
///     assert_eq!(limiter.try_acquire_at(at(100)), Ok(())); // S becomes 120, 140, 160
/// }
/// assert_eq!(limiter.try_acquire_at(at(100)), Err(Rejected::NotUntil(at(120))));
/// assert_eq!(limiter.try_acquire_at(at(120)), Ok(()));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gcra {
    schedule: VirtualSchedule,
}

impl Gcra {
    /// Creates a rule for `quota` whose burst is the whole `count`.
    ///
    /// # Panics
    /// Never: the count of any quota is a valid burst.
    #[must_use]
    pub fn new(quota: Quota) -> Gcra {
        Gcra::with_burst(quota, quota.count()).expect("a period is at most 292 years")
    }

    /// Creates the same rule as [`new`](Gcra::new): each request adds one interval to the time that the limiter needs
    /// to cool down.
    #[must_use]
    pub fn cooldown(quota: Quota) -> Gcra {
        Gcra::new(quota)
    }

    /// Creates a rule for `quota` that admits up to `burst` requests at once. With a burst of 1, admissions are at
    /// least one interval apart.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a burst of zero, and [`QuotaError::CapacityTooLarge`] if it takes
    /// more than 292 years until the whole burst is available again.
    pub fn with_burst(quota: Quota, burst: u64) -> Result<Gcra, QuotaError> {
        Ok(Gcra { schedule: VirtualSchedule::new(quota, burst)? })
    }

    pub(crate) fn schedule(&self) -> &VirtualSchedule {
        &self.schedule
    }
}

one_word_rule!(Gcra, |_| 0);
