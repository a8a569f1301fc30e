//! Builds limiters and limits step by step.

use super::{Limiter, Meter};
use crate::{Limit, Limits, LimitsError, Quota};
use nanopace_nanos::{Clock, TscClock};
use std::time::Duration;

/// Builds a [`Limiter`] or [`Limits`]. [`Limiter::per_second`], [`Limiter::per_minute`] and [`Limiter::per`] start a
/// builder. [`build`](LimitsBuilder::build) and [`limits`](LimitsBuilder::limits) report the first invalid step.
///
/// ```
/// use nanopace_limits::{Limiter, LimitsError};
///
/// let limiter = Limiter::per_second(10).burst(20).and("5000/day").build()?;
/// assert_eq!(limiter.limits().to_string(), "10/s burst 20, 5000/day");
///
/// let error = Limiter::per_second(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "a quota of zero admits nothing: write 1 or more, such as 1/h");
/// # Ok::<(), LimitsError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct LimitsBuilder {
    limits: Result<Vec<Limit>, LimitsError>,
    clock: Box<dyn Clock>,
    meter: Meter,
}

impl LimitsBuilder {
    /// Sets the burst of the last limit. By default, the burst is the limit's count per period.
    pub fn burst(self, burst: u64) -> LimitsBuilder {
        let limits = self.limits.and_then(|mut limits| {
            let last = limits.last_mut().ok_or(LimitsError::NoBurst)?;
            *last = last.with_burst(burst)?;
            Ok(limits)
        });
        LimitsBuilder { limits, ..self }
    }

    /// Adds one or more limits from a string in the format of [`Limits`].
    pub fn and(self, limits: &str) -> LimitsBuilder {
        let limits = self.limits.and_then(|all| {
            let all = format!("{}, {limits}", Limits::new(all)).parse::<Limits>()?;
            Ok(all.each().to_vec())
        });
        LimitsBuilder { limits, ..self }
    }

    /// Sets the limiter's clock, for example a [`ManualClock`](nanopace_nanos::ManualClock) in tests.
    pub fn clock(self, clock: impl Clock + 'static) -> LimitsBuilder {
        LimitsBuilder { clock: Box::new(clock), ..self }
    }

    /// Sets the name under which the metrics count the limiter's decisions, as [`Limiter::named`] does.
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn named(self, name: &str) -> LimitsBuilder {
        LimitsBuilder { meter: Meter::named(name), ..self }
    }

    /// Returns the limits.
    ///
    /// # Errors
    /// Returns the [`LimitsError`] of the first invalid step.
    pub fn limits(self) -> Result<Limits, LimitsError> {
        self.limits.map(Limits::new)
    }

    /// Builds a limiter with these limits.
    ///
    /// # Errors
    /// Returns the same errors as [`limits`](LimitsBuilder::limits).
    pub fn build(self) -> Result<Limiter, LimitsError> {
        let LimitsBuilder { limits, clock, meter } = self;
        Ok(Limiter::from_parts(Limits::new(limits?), clock).with_meter(meter))
    }
}

impl Limiter {
    /// Starts a builder with a limit of `count` requests per second.
    pub fn per_second(count: u64) -> LimitsBuilder {
        Limiter::per(count, Duration::from_secs(1))
    }

    /// Starts a builder with a limit of `count` requests per minute.
    pub fn per_minute(count: u64) -> LimitsBuilder {
        Limiter::per(count, Duration::from_secs(60))
    }

    /// Starts a builder with a limit of `count` requests per `period`.
    pub fn per(count: u64, period: Duration) -> LimitsBuilder {
        let quota = Quota::new(count, period);
        let limits = quota.map(|quota| vec![Limit::gcra(quota)]).map_err(LimitsError::from);
        LimitsBuilder { limits, clock: Box::new(TscClock::new()), meter: Meter::default() }
    }
}
