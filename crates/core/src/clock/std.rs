//! The operating system's monotonic clock.

use super::Clock;
use crate::Nanos;
use std::time::Instant;

/// [`std::time::Instant`], counted from when this clock was made.
#[derive(Clone, Debug)]
pub struct StdClock(Instant);

impl StdClock {
    /// A clock whose origin is now.
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
