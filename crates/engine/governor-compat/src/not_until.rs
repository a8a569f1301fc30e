//! Defines the refusal of a request that came too early.

use crate::Quota;
use crate::clock::Reference;
use std::fmt;
use std::time::Duration;

/// The refusal of a cell that is not due. It contains the time at which the current schedule admits the cell. The
/// refused request used no cell.
///
/// ```
/// use governor::clock::{Clock, FakeRelativeClock};
/// use governor::{Quota, RateLimiter};
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();
/// let clock = FakeRelativeClock::default();
/// let limiter = RateLimiter::direct_with_clock(Quota::per_second(FOUR), clock.clone());
/// assert!(limiter.check().is_ok());
///
/// let not_until = limiter.check().unwrap_err();
/// let wait = not_until.wait_time_from(clock.now());
/// assert_eq!(wait, Duration::from_millis(250));
/// clock.advance(wait);
/// assert!(limiter.check().is_ok());
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct NotUntil<P: Reference> {
    earliest: P,
    quota: Quota,
}

impl<P: Reference> NotUntil<P> {
    pub(crate) fn new(earliest: P, quota: Quota) -> NotUntil<P> {
        NotUntil { earliest, quota }
    }

    /// Returns the time on the limiter's clock at which the cell is admitted, unless other callers are admitted first.
    pub fn earliest_possible(&self) -> P {
        self.earliest
    }

    /// Returns the duration from `from` to [`earliest_possible`](NotUntil::earliest_possible), or zero if `from` is
    /// later.
    pub fn wait_time_from(&self, from: P) -> Duration {
        self.earliest.duration_since(self.earliest.min(from)).into()
    }

    /// Returns the limiter's quota.
    pub fn quota(&self) -> Quota {
        self.quota
    }
}

impl<P: Reference> fmt::Display for NotUntil<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate-limited until {:?}", self.earliest)
    }
}

impl<P: Reference> std::error::Error for NotUntil<P> {}
