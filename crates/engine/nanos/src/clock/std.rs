//! Implements a clock that reads [`std::time::Instant`].

use crate::{Clock, Nanos};
use std::time::Instant;

/// A clock that reads [`std::time::Instant`] and counts nanoseconds from its own creation.
#[derive(Clone, Debug)]
pub struct StdClock(Instant);

impl StdClock {
    /// Creates a clock whose origin is the time of this call.
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
