#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "clocks"), no_std)]

#[cfg(feature = "clocks")]
mod clock;
#[cfg(feature = "clocks")]
mod sync;

#[cfg(all(feature = "clocks", unix))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "clocks", unix))))]
pub use clock::MonotonicClock;
#[cfg(feature = "clocks")]
#[cfg_attr(docsrs, doc(cfg(feature = "clocks")))]
pub use clock::{Clock, ManualClock, StdClock, TscClock};
#[cfg(feature = "clocks")]
#[cfg_attr(docsrs, doc(cfg(feature = "clocks")))]
pub use sync::{Parker, Unparker};

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time, in nanoseconds since the origin of a clock.
///
/// Values range from 0 to 2^63 - 1 ns (292 years). Sums saturate at the upper end and differences at zero, so
/// arithmetic on times neither panics nor wraps.
///
/// ```
/// use nanopace_nanos::Nanos;
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
    /// The latest possible time, 292 years after the origin. As a due time, it means that the operation cannot start
    /// before a change, such as the end of a pause.
    pub const MAX: Nanos = Nanos(i64::MAX.unsigned_abs());

    /// Returns the time `nanos` nanoseconds after the clock's origin, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Nanos {
        if nanos > Self::MAX.0 { Self::MAX } else { Nanos(nanos) }
    }

    /// Returns the nanoseconds since the clock's origin, from 0 to 2^63 - 1.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the nanoseconds since the clock's origin as a signed number, for arithmetic whose results can be before
    /// the origin.
    #[must_use]
    pub const fn signed(self) -> i64 {
        self.0.cast_signed()
    }

    /// Returns the time `nanos` nanoseconds after the clock's origin, or the origin if `nanos` is negative.
    #[must_use]
    pub const fn from_signed(nanos: i64) -> Nanos {
        if nanos < 0 { Nanos(0) } else { Nanos(nanos.unsigned_abs()) }
    }
}

fn whole_ns(span: Duration) -> u64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX).unsigned_abs()
}

impl Add<Duration> for Nanos {
    type Output = Nanos;

    /// Returns the time `span` later, at most [`Nanos::MAX`].
    fn add(self, span: Duration) -> Nanos {
        Nanos::from_nanos(self.0.saturating_add(whole_ns(span)))
    }
}

impl Sub<Duration> for Nanos {
    type Output = Nanos;

    /// Returns the time `span` earlier, at least [`Nanos::ZERO`].
    fn sub(self, span: Duration) -> Nanos {
        Nanos::from_nanos(self.0.saturating_sub(whole_ns(span)))
    }
}

impl Sub for Nanos {
    type Output = Duration;

    /// Returns the duration from `earlier` to this time, or zero if `earlier` is later.
    fn sub(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}
