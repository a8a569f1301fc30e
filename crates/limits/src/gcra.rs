//! Gcra: the generic cell rate algorithm in one integer.

use crate::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};

/// Gcra, the generic cell rate algorithm (GCRA): each request lets in sets back the next by one
/// interval, and the setback may not exceed the period. One integer remembers everything.
///
/// # Law
///
/// For a quota of `count` per `period` T, with the interval I = T / `count` and the score S, 0 at
/// first: a request for n at `now` would make the score S + n I, or `now` + n I where S is past. If
/// that is more than `now` + T, the request is rejected and nothing changes; otherwise that is the
/// new score.
///
/// So up to `count` get in at once after an idle time of T or more, and in any span of length L no
/// more than `count` x (1 + L / T), however the requests arrive. A rule that counts (a sliding
/// window) bounds each T by `count` itself.
///
/// The interval is exact where it is a whole number of nanoseconds. Otherwise decisions are early
/// or late by less than 2 ns, L is that much longer, and nothing drifts.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)); per decision one or two multiplications and one
/// compare-and-swap; a division when rejected.
///
/// # Source
///
/// ITU-T I.371 (virtual scheduling); the cooldown of the seed documents, where n = 3, T = 60 s:
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, Gcra, Limiter, Rejected};
/// use std::time::Duration;
///
/// let at = |seconds| Nanos::ZERO + Duration::from_secs(seconds);
/// let limiter = Atomic::new(Gcra::new("3/60s".parse()?));
/// for _ in 0..3 {
///     assert_eq!(limiter.try_acquire_at(at(100)), Ok(())); // scores 120, 140, 160
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
    /// `quota`, all of which may be taken at once.
    ///
    /// # Panics
    /// Never: every quota's count is a capacity.
    #[must_use]
    pub fn new(quota: Quota) -> Gcra {
        Gcra::with_burst(quota, quota.count()).expect("a period is at most 292 years")
    }

    /// `quota`, of which up to `burst` may be taken at once: 1 spaces requests evenly.
    ///
    /// # Errors
    /// [`QuotaError`] for a burst of zero, or of more than 292 years' worth.
    pub fn with_burst(quota: Quota, burst: u64) -> Result<Gcra, QuotaError> {
        Ok(Gcra { schedule: VirtualSchedule::new(quota, burst)? })
    }
}

one_word_rule!(Gcra, |_| 0);

/// Another name of [`Gcra`]: each request makes the next one wait for its interval to cool down.
pub type Cooldown = Gcra;
