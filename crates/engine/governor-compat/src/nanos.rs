//! Defines a number of nanoseconds, which implementations of clocks return.

use std::fmt;
use std::ops::{Add, Div, Mul};
use std::time::Duration;

/// A number of nanoseconds: a duration, or a time since some origin. Sums, products and conversions saturate at 584
/// years.
///
/// ```
/// use governor::nanos::Nanos;
/// use std::time::Duration;
///
/// let nanos = Nanos::from(Duration::from_micros(2)) + Nanos::new(500);
/// assert_eq!(nanos.as_u64(), 2_500);
/// assert_eq!(Duration::from(nanos), Duration::from_nanos(2_500));
/// assert_eq!(Nanos::from(Duration::MAX), Nanos::new(u64::MAX));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Nanos(u64);

impl Nanos {
    /// Creates a duration of `nanos` nanoseconds.
    #[must_use]
    pub const fn new(nanos: u64) -> Nanos {
        Nanos(nanos)
    }

    /// Returns the number of nanoseconds.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nanos({:?})", Duration::from(*self))
    }
}

impl From<u64> for Nanos {
    fn from(nanos: u64) -> Nanos {
        Nanos(nanos)
    }
}

impl From<Nanos> for u64 {
    fn from(nanos: Nanos) -> u64 {
        nanos.0
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;

    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;

    fn add(self, span: Duration) -> Nanos {
        self + Nanos::from(span)
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;

    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

impl Div for Nanos {
    type Output = u64;

    /// Returns how many times `other` fits into this duration, or zero if `other` is zero.
    fn div(self, other: Nanos) -> u64 {
        self.0.checked_div(other.0).unwrap_or(0)
    }
}
