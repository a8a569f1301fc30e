//! Adds random time to a wait.

use crate::nanos::Nanos;
use std::ops::Add;
use std::time::{Duration, Instant};

/// A range of random durations to add to a wait: at least a minimum, and less than a maximum unless both are equal.
///
/// ```
/// use governor::Jitter;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let jitter = Jitter::new(ms(10), ms(5));
/// assert!((ms(110)..ms(115)).contains(&(jitter + ms(100))));
/// assert_eq!(Jitter::default() + ms(100), ms(100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Jitter {
    min: Nanos,
    max: Nanos,
}

impl Jitter {
    /// Returns a jitter from zero to `max`.
    #[must_use]
    pub fn up_to(max: Duration) -> Jitter {
        Jitter { min: Nanos::default(), max: max.into() }
    }

    /// Returns a jitter from `min` to `min + interval`.
    #[must_use]
    pub fn new(min: Duration, interval: Duration) -> Jitter {
        let min = Nanos::from(min);
        Jitter { min, max: min + interval }
    }

    pub(crate) fn draw(self) -> Duration {
        let (min, max) = (self.min.as_u64(), self.max.as_u64());
        Duration::from_nanos(if min < max { fastrand::u64(min..max) } else { min })
    }
}

impl Add<Duration> for Jitter {
    type Output = Duration;

    fn add(self, span: Duration) -> Duration {
        span.saturating_add(self.draw())
    }
}

impl Add<Nanos> for Jitter {
    type Output = Nanos;

    fn add(self, nanos: Nanos) -> Nanos {
        nanos + self.draw()
    }
}

impl Add<Instant> for Jitter {
    type Output = Instant;

    /// Returns `moment` plus a random duration. If the system cannot represent the sum, returns `moment`.
    fn add(self, moment: Instant) -> Instant {
        moment.checked_add(self.draw()).unwrap_or(moment)
    }
}
