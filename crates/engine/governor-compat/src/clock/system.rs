//! Implements clocks that read the operating system's clocks.

use super::{Clock, ReasonablyRealtime, Reference};
use crate::nanos::Nanos;
use std::ops::Add;
use std::time::{Duration, Instant, SystemTime};

/// A clock that reads the standard library's [`Instant`].
#[derive(Clone, Debug, Default)]
pub struct MonotonicClock;

/// A clock that reads the standard library's [`SystemTime`]. Only refusals report times on this clock, so setting
/// the system clock does not move the schedule.
#[derive(Clone, Debug, Default)]
pub struct SystemClock;

impl Clock for MonotonicClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::now()
    }
}

impl Clock for SystemClock {
    type Instant = SystemTime;

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl ReasonablyRealtime for MonotonicClock {}

impl ReasonablyRealtime for SystemClock {}

impl Reference for Instant {
    fn duration_since(&self, earlier: Instant) -> Nanos {
        self.saturating_duration_since(earlier).into()
    }

    fn saturating_sub(&self, span: Nanos) -> Instant {
        self.checked_sub(span.into()).unwrap_or(*self)
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;

    /// Returns the time `span` later. If the system cannot represent the sum, returns this time.
    fn add(self, span: Nanos) -> Instant {
        self.checked_add(span.into()).unwrap_or(self)
    }
}

impl Reference for SystemTime {
    fn duration_since(&self, earlier: SystemTime) -> Nanos {
        SystemTime::duration_since(self, earlier).unwrap_or(Duration::ZERO).into()
    }

    fn saturating_sub(&self, span: Nanos) -> SystemTime {
        self.checked_sub(span.into()).unwrap_or(*self)
    }
}

impl Add<Nanos> for SystemTime {
    type Output = SystemTime;

    /// Returns the time `span` later. If the system cannot represent the sum, returns this time.
    fn add(self, span: Nanos) -> SystemTime {
        self.checked_add(span.into()).unwrap_or(self)
    }
}
