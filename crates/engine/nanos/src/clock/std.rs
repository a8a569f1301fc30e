//! The operating system's monotonic clock.

use crate::{Clock, Nanos};
use std::time::Instant;

/// [`std::time::Instant`], as nanoseconds since this clock was created.
#[derive(Clone, Debug)]
pub struct StdClock(Instant);

impl StdClock {
    /// A clock whose origin is now.
    ///
    /// ```
    /// use nanopace_nanos::{Clock, StdClock};
    ///
    /// let clock = StdClock::new();
    /// let earlier = clock.now();
    /// assert!(clock.now() >= earlier);
    /// ```
    #[must_use]
    pub fn new() -> StdClock {
        StdClock(Instant::now())
    }
}

impl Default for StdClock {
    fn default() -> StdClock {
        StdClock::new()
    }
}

impl Clock for StdClock {
    fn now(&self) -> Nanos {
        Nanos::ZERO + self.0.elapsed()
    }
}
