//! The leaky bucket as a meter, in one integer.

use crate::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};
use nanopace_nanos::Nanos;

/// The leaky bucket as a meter. Each request pours in a drop, and the bucket leaks steadily. A
/// request that would make it overflow is rejected. The state is the moment at which the bucket
/// will be empty.
///
/// # Law
///
/// The level is 0 at first. It falls continuously by `count` per `period`, but not below 0. A
/// request for n raises it by n. If that would exceed `capacity`, the request is rejected and the
/// level stays.
///
/// This is the [`TokenBucket`](crate::TokenBucket) seen from the other side (level = capacity -
/// tokens), and it has the same bound: in any span of length L, at most `capacity` + L x rate get
/// in. Its intervals are as exact: if they are not whole nanoseconds, a decision is early or late
/// by less than 2 ns.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)). A decision takes one or two multiplications and one
/// compare-and-swap. A rejection takes a division as well.
///
/// # Source
///
/// J. S. Turner, "New directions in communications (or which way to the information age?)", IEEE
/// Communications Magazine, 1986; ITU-T Recommendation I.371 (continuous-state leaky bucket).
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, LeakyMeter, TryAcquire};
/// use std::time::Duration;
///
/// let meter = Atomic::new(LeakyMeter::new("10/s".parse()?, 30)?);
/// assert_eq!(meter.try_acquire_n_at(25, Nanos::ZERO), Ok(()));
/// let second = Nanos::ZERO + Duration::from_secs(1);
/// assert_eq!(meter.rule().level(meter.state(), second), 15);
/// assert!(meter.try_acquire_n_at(16, second).is_err());
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LeakyMeter {
    schedule: VirtualSchedule,
}

impl LeakyMeter {
    /// A bucket that holds `capacity` drops and leaks at `quota`. It is empty at first.
    ///
    /// # Errors
    /// [`QuotaError::CapacityTooSmall`] for a capacity of zero, [`QuotaError::CapacityTooLarge`]
    /// for one that takes more than 292 years to leak out.
    ///
    /// ```
    /// use nanopace_limits::{LeakyMeter, Rule};
    ///
    /// assert_eq!(LeakyMeter::new("10/s".parse()?, 30)?.most(), 30);
    /// assert!(LeakyMeter::new("10/s".parse()?, 0).is_err());
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    pub fn new(quota: Quota, capacity: u64) -> Result<LeakyMeter, QuotaError> {
        Ok(LeakyMeter { schedule: VirtualSchedule::new(quota, capacity)? })
    }

    /// The level at `now` of a bucket in `state`, in drops, rounded up.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_limits::{LeakyMeter, Rule};
    ///
    /// let meter = LeakyMeter::new("10/s".parse()?, 30)?;
    /// let mut state = meter.fresh();
    /// meter.debit(&mut state, Nanos::ZERO, 5);
    /// assert_eq!(meter.level(state, Nanos::from_nanos(50_000_000)), 5); // 4.5 are left
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    #[must_use]
    pub fn level(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.gone(state, now)
    }
}

one_word_rule!(LeakyMeter, |_| 0);
