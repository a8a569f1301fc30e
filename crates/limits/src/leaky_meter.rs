//! The leaky bucket as a meter, in one integer.

use crate::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};
use nanopace::Nanos;

/// The leaky bucket as a meter: each request pours in a drop, the bucket leaks steadily, and what
/// would make it run over is rejected. The integer is the moment when it will be empty.
///
/// # Law
///
/// The level, 0 at first, falls continuously at `count` per `period`, not below 0. A request for n
/// raises it by n; when it would exceed `capacity`, the request is rejected and the level stays.
///
/// It is the [`TokenBucket`](crate::TokenBucket) seen from the other side (level = capacity -
/// tokens), with the same bound: in any span of length L no more than `capacity` + L x rate. Its
/// intervals are as exact: decisions are early or late by less than 2 ns where they are not whole
/// nanoseconds.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)); per decision one or two multiplications and one
/// compare-and-swap; a division when rejected.
///
/// # Source
///
/// J. Turner, "New directions in communications", 1986; ITU-T I.371 (continuous-state leaky
/// bucket).
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, LeakyMeter, Limiter};
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
    /// A bucket of `capacity` that leaks at `quota`.
    ///
    /// # Errors
    /// [`QuotaError`] for a capacity of zero, or of more than 292 years' worth.
    pub fn new(quota: Quota, capacity: u64) -> Result<LeakyMeter, QuotaError> {
        Ok(LeakyMeter { schedule: VirtualSchedule::new(quota, capacity)? })
    }

    /// The level at `now` of a bucket in `state`, rounded up.
    #[must_use]
    pub fn level(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.gone(state, now)
    }
}

one_word_rule!(LeakyMeter, |_| 0);
