//! A moment on a pacer's clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment, in nanoseconds since the origin of the pacer's [`Clock`](crate::Clock).
///
/// The range is 0 to 2^63 - 1 ns (292 years). Sums saturate at the upper end and differences at
/// zero, so arithmetic on moments neither panics nor wraps.
///
/// ```
/// use nanopace::Nanos;
/// use std::time::Duration;
///
/// let start = Nanos::from_nanos(1_500);
/// let end = start + Duration::from_micros(2);
/// assert_eq!(end.as_nanos(), 3_500);
/// assert_eq!(end - start, Duration::from_micros(2));
/// assert_eq!(start - end, Duration::ZERO);
/// assert_eq!(Nanos::MAX + Duration::from_secs(1), Nanos::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(u64);

impl Nanos {
    /// The clock's origin.
    pub const ZERO: Nanos = Nanos(0);
    /// The latest moment that there is, 292 years after the origin. It stands for "not before
    /// something changes".
    pub const MAX: Nanos = Nanos(i64::MAX.unsigned_abs());

    /// The moment `nanos` nanoseconds after the clock's origin, at most [`Nanos::MAX`].
    ///
    /// ```
    /// use nanopace::Nanos;
    ///
    /// assert_eq!(Nanos::from_nanos(0), Nanos::ZERO);
    /// assert_eq!(Nanos::from_nanos(u64::MAX), Nanos::MAX);
    /// ```
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Nanos {
        if nanos > Self::MAX.0 { Self::MAX } else { Nanos(nanos) }
    }

    /// Nanoseconds since the clock's origin, from 0 to 2^63 - 1.
    ///
    /// ```
    /// use nanopace::Nanos;
    ///
    /// assert_eq!(Nanos::from_nanos(1_500).as_nanos(), 1_500);
    /// assert_eq!(Nanos::MAX.as_nanos(), i64::MAX as u64);
    /// ```
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The schedule's arithmetic is signed, because a line may be anchored before the clock's
    /// origin.
    pub(crate) const fn signed(self) -> i64 {
        self.0.cast_signed()
    }

    pub(crate) const fn from_signed(nanos: i64) -> Nanos {
        if nanos < 0 { Nanos(0) } else { Nanos(nanos.unsigned_abs()) }
    }
}

/// A duration in whole nanoseconds, cut to the range of [`Nanos`].
pub(crate) fn span_ns(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// Nanoseconds in whole ones, rounded down, from 0 to the end of the range.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast of a float stops at the ends of the range"
)]
pub(crate) fn whole_ns(nanos: f64) -> i64 {
    (nanos as i64).max(0)
}

/// A span as a [`Duration`]; a negative one becomes zero.
pub(crate) fn duration(span_ns: i64) -> Duration {
    Duration::from_nanos(span_ns.max(0).unsigned_abs())
}

impl Add<Duration> for Nanos {
    type Output = Nanos;

    /// The moment `span` later, at most [`Nanos::MAX`].
    fn add(self, span: Duration) -> Nanos {
        Nanos::from_signed(self.signed().saturating_add(span_ns(span)))
    }
}

impl Sub<Duration> for Nanos {
    type Output = Nanos;

    /// Stops at zero.
    fn sub(self, span: Duration) -> Nanos {
        Nanos::from_nanos(self.0.saturating_sub(span_ns(span).unsigned_abs()))
    }
}

impl Sub for Nanos {
    type Output = Duration;

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    fn sub(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}
