//! Defines the traits of clocks and of points in time.

use crate::nanos::Nanos;
use std::fmt::Debug;
use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

/// A point in time on a clock.
pub trait Reference: Sized + Add<Nanos, Output = Self> + Ord + Copy + Send + Sync + Debug {
    /// Returns the time from `earlier` to this point in time, or zero if `earlier` is later.
    fn duration_since(&self, earlier: Self) -> Nanos;

    /// Returns the point in time `span` earlier. If there is no such point, returns the earliest point or this one,
    /// depending on the type.
    #[must_use]
    fn saturating_sub(&self, span: Nanos) -> Self;
}

/// The clock of a limiter. Retry times are times on this clock.
///
/// ```
/// use governor::clock::{Clock, ReasonablyRealtime};
/// use governor::{Quota, RateLimiter};
/// use std::num::NonZeroU32;
/// use std::time::Instant;
///
/// #[derive(Clone)]
/// struct MyClock;
///
/// impl Clock for MyClock {
///     type Instant = Instant;
///
///     fn now(&self) -> Instant {
///         Instant::now()
///     }
/// }
///
/// impl ReasonablyRealtime for MyClock {}
///
/// let limiter = RateLimiter::direct_with_clock(Quota::per_hour(NonZeroU32::MIN), MyClock);
/// assert!(limiter.check().is_ok());
/// assert!(limiter.check().unwrap_err().earliest_possible() > MyClock.now());
/// ```
pub trait Clock {
    /// The type of a point in time on this clock.
    type Instant: Reference;

    /// Returns the current time.
    fn now(&self) -> Self::Instant;

    /// Returns the clock on which the schedule of a limiter runs. With `None`, the default, the schedule runs in real
    /// time.
    ///
    /// governor does not have this method. The method is for clocks of tests, such as
    /// [`FakeRelativeClock`](crate::clock::FakeRelativeClock).
    fn pacing(&self) -> Option<Arc<dyn nanopace::Clock>> {
        None
    }
}

/// A clock that runs at the speed of real time, so that tasks can wait by it.
pub trait ReasonablyRealtime: Clock {
    /// Returns the current time. governor calls this method at the start of an operation; this crate never calls it.
    fn reference_point(&self) -> Self::Instant {
        self.now()
    }
}

/// A clock that is passed by value, as in governor 0.10, or by reference, as in 0.6. You need not implement this trait.
///
/// ```
/// use governor::clock::DefaultClock;
/// use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
/// use std::num::NonZeroU32;
///
/// let (quota, clock) = (Quota::per_second(NonZeroU32::MIN), DefaultClock::default());
/// let by_reference: DefaultDirectRateLimiter = RateLimiter::direct_with_clock(quota, &clock);
/// let by_value: DefaultDirectRateLimiter = RateLimiter::direct_with_clock(quota, clock);
/// # assert!(by_reference.check().is_ok() && by_value.check().is_ok());
/// ```
pub trait GivenClock<C> {
    /// Returns the clock, or a clone of a clock that is passed by reference.
    fn into_clock(self) -> C;
}

impl<C: Clock> GivenClock<C> for C {
    fn into_clock(self) -> C {
        self
    }
}

impl<C: Clock + Clone> GivenClock<C> for &C {
    fn into_clock(self) -> C {
        self.clone()
    }
}

impl Reference for Nanos {
    fn duration_since(&self, earlier: Nanos) -> Nanos {
        Nanos::saturating_sub(*self, earlier)
    }

    fn saturating_sub(&self, span: Nanos) -> Nanos {
        Nanos::saturating_sub(*self, span)
    }
}

impl Reference for Duration {
    fn duration_since(&self, earlier: Duration) -> Nanos {
        Duration::saturating_sub(*self, earlier).into()
    }

    fn saturating_sub(&self, span: Nanos) -> Duration {
        self.checked_sub(span.into()).unwrap_or(*self)
    }
}

impl Add<Nanos> for Duration {
    type Output = Duration;

    fn add(self, span: Nanos) -> Duration {
        self.saturating_add(span.into())
    }
}
