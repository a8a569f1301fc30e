//! Implements a clock that tests move.

use super::Clock;
use crate::nanos::Nanos;
use nanopace::ManualClock;
use std::sync::Arc;
use std::time::Duration;

/// A clock for tests, which moves only by [`advance`](FakeRelativeClock::advance). Clones share the same time, and the
/// schedule of a limiter runs on this clock.
///
/// ```
/// use governor::clock::FakeRelativeClock;
/// use governor::{Quota, RateLimiter};
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// let clock = FakeRelativeClock::default();
/// let limiter = RateLimiter::direct_with_clock(Quota::per_hour(NonZeroU32::MIN), clock.clone());
/// assert!(limiter.check().is_ok());
/// assert!(limiter.check().is_err());
/// clock.advance(Duration::from_secs(3_600));
/// assert!(limiter.check().is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeRelativeClock(Arc<ManualClock>);

impl FakeRelativeClock {
    /// Moves the clock forward by `by`, at most to 292 years after its origin.
    pub fn advance(&self, by: Duration) {
        self.0.advance(by);
    }
}

impl PartialEq for FakeRelativeClock {
    fn eq(&self, other: &FakeRelativeClock) -> bool {
        self.now() == other.now()
    }
}

impl Clock for FakeRelativeClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(nanopace::Clock::now(&*self.0).as_nanos())
    }

    fn pacing(&self) -> Option<Arc<dyn nanopace::Clock>> {
        Some(self.0.clone())
    }
}
