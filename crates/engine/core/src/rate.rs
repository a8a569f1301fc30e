//! Represents rates, operations per period, as exact fractions.

mod parse;

pub(crate) use parse::time_ns;

use crate::error::RateError;
use crate::position::SLOT;
use crate::scale::Scale;
use std::fmt;
use std::time::Duration;

/// A rate: a whole number of operations in a whole number of nanoseconds, stored as an exact fraction.
///
/// Rates range from one operation per day to 10 G per second, both included. A rate outside this range is a
/// [`RateError`]. Rates are not rounded to whole nanoseconds or hertz: 3 per second stays exactly 3 per second.
///
/// ```
/// use nanopace::Rate;
/// use std::time::Duration;
///
/// let rate: Rate = "50k/s".parse()?;
/// assert_eq!(rate, Rate::per_second(50_000)?);
/// assert_eq!("3/min".parse::<Rate>()?, Rate::per(3, Duration::from_secs(60))?);
/// assert_eq!("1.5/h".parse::<Rate>()?, Rate::per(3, Duration::from_secs(7_200))?);
/// assert_eq!(Rate::from_hz(0.25)?, Rate::per(1, Duration::from_secs(4))?);
/// assert!("0".parse::<Rate>().is_err());
/// # Ok::<(), nanopace::RateError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// The fraction is in lowest terms. `operations` is below 2^64 and `period_ns` is below 2^108, so that no product
    /// in this module overflows.
    operations: u128,
    period_ns: u128,
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_DAY: u128 = 86_400 * NANOS_PER_SECOND;
const UNITS: [(&str, u128); 4] = [
    ("s", NANOS_PER_SECOND),
    ("min", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
    ("d", NANOS_PER_DAY),
];
const MOST_PER_SECOND: u128 = 10_000_000_000;

impl Rate {
    /// The slowest rate: one operation per day.
    pub const SLOWEST: Rate = Rate { operations: 1, period_ns: NANOS_PER_DAY };
    /// The fastest rate: 10 G operations per second.
    pub const FASTEST: Rate = Rate { operations: MOST_PER_SECOND / NANOS_PER_SECOND, period_ns: 1 };

    /// Returns the rate of `operations` per second, from 1 to 10 G.
    ///
    /// # Errors
    /// Returns [`RateError::Zero`] for zero, and [`RateError::TooFast`] for more than 10 G per second.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Rate, RateError};
    ///
    /// assert_eq!(Rate::per_second(5_000)?.interval_ns(), 200_000.0);
    /// assert_eq!(Rate::per_second(0), Err(RateError::Zero));
    /// assert_eq!(Rate::per_second(10_000_000_001), Err(RateError::TooFast));
    /// # Ok::<(), RateError>(())
    /// ```
    pub fn per_second(operations: u64) -> Result<Rate, RateError> {
        Rate::exact(operations.into(), NANOS_PER_SECOND)
    }

    /// Returns the rate of `operations` per `period`. The period is not rounded.
    ///
    /// # Errors
    /// Returns [`RateError::Zero`] for zero operations, [`RateError::TooFast`] for a period of zero length or a rate
    /// above 10 G per second, and [`RateError::TooSlow`] for less than one operation per day.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Rate, RateError};
    /// use std::time::Duration;
    ///
    /// let rate = Rate::per(100, Duration::from_millis(250))?;
    /// assert_eq!(rate, Rate::per_second(400)?);
    /// let two_days = Duration::from_secs(2 * 86_400);
    /// assert_eq!(Rate::per(1, two_days), Err(RateError::TooSlow));
    /// assert_eq!(Rate::per(1, Duration::ZERO), Err(RateError::TooFast));
    /// # Ok::<(), RateError>(())
    /// ```
    pub fn per(operations: u64, period: Duration) -> Result<Rate, RateError> {
        Rate::exact(operations.into(), period.as_nanos())
    }

    /// Returns the rate of `hz` operations per second. The exact value of the floating-point number is used.
    ///
    /// # Errors
    /// Returns [`RateError::NotFinite`], [`RateError::Negative`] or [`RateError::Zero`] if `hz` is not finite, is
    /// negative or is zero. Returns [`RateError::TooSlow`] or [`RateError::TooFast`] for a rate outside the range from
    /// 1 per day to 10 G per second.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Rate, RateError};
    ///
    /// assert_eq!(Rate::from_hz(2.5)?, "5/2s".parse()?);
    /// // The float 0.1 is a little more than a tenth.
    /// assert_ne!(Rate::from_hz(0.1)?, "0.1/s".parse()?);
    /// assert_eq!(Rate::from_hz(f64::NAN), Err(RateError::NotFinite));
    /// # Ok::<(), RateError>(())
    /// ```
    pub fn from_hz(hz: f64) -> Result<Rate, RateError> {
        if !hz.is_finite() {
            return Err(RateError::NotFinite);
        }
        if hz < 0.0 {
            return Err(RateError::Negative);
        }
        if hz == 0.0 {
            return Err(RateError::Zero);
        }
        // Values far outside the range of rates would overflow the exact fraction below.
        if hz < 7.6e-6 {
            return Err(RateError::TooSlow);
        }
        if hz > 1.7e10 {
            return Err(RateError::TooFast);
        }
        // A float is mantissa * 2^exponent. Here the exponent is in the range -70 ..= -19.
        let exponent = i32::try_from(hz.to_bits() >> 52).unwrap_or(0) - 1075;
        let mantissa = u128::from(hz.to_bits() & ((1 << 52) - 1) | 1 << 52);
        Rate::exact(mantissa, NANOS_PER_SECOND << -exponent)
    }

    /// `operations` must be below 2^64, and `period_ns` below 2^108.
    pub(crate) fn exact(operations: u128, period_ns: u128) -> Result<Rate, RateError> {
        if operations == 0 {
            return Err(RateError::Zero);
        }
        if period_ns == 0
            || operations * NANOS_PER_SECOND > MOST_PER_SECOND.saturating_mul(period_ns)
        {
            return Err(RateError::TooFast);
        }
        if operations * NANOS_PER_DAY < period_ns {
            return Err(RateError::TooSlow);
        }
        let divisor = gcd(operations, period_ns);
        Ok(Rate { operations: operations / divisor, period_ns: period_ns / divisor })
    }

    /// Returns the rate in operations per second, rounded to an `f64`. Use this method only for display: schedules are
    /// computed from the exact fraction.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "documented as approximate")]
    pub fn as_hz(self) -> f64 {
        self.operations as f64 * NANOS_PER_SECOND as f64 / self.period_ns as f64
    }

    /// Returns the average time between two intended starts in nanoseconds, rounded to an `f64`. The result ranges from
    /// 0.1 ns to a day. (GCRA calls this time the emission interval.)
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "documented as approximate")]
    pub fn interval_ns(self) -> f64 {
        self.period_ns as f64 / self.operations as f64
    }

    pub(crate) fn fraction(self) -> (u128, u128) {
        (self.operations, self.period_ns)
    }

    /// `ratio_q32` multiplies the rate, in units of 2^-32. It must be below 2^48.
    pub(crate) fn scale_at(self, ratio_q32: u64) -> Scale {
        const { assert!(SLOT == 1 << 16) };
        Scale::from_ratio(self.period_ns << 16, self.operations * u128::from(ratio_q32))
    }
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Rate {
    /// Formats the rate so that [`FromStr`](std::str::FromStr) can parse it: as a whole number per second, minute,
    /// hour or day if possible, and otherwise rounded to an `f64`.
    ///
    /// ```
    /// use nanopace::Rate;
    ///
    /// assert_eq!(Rate::per_second(50_000)?.to_string(), "50000/s");
    /// assert_eq!(Rate::from_hz(0.25)?.to_string(), "15/min");
    /// # Ok::<(), nanopace::RateError>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = |unit_ns: u128| self.operations * unit_ns;
        let whole = UNITS.iter().find(|(_, unit_ns)| per(*unit_ns) % self.period_ns == 0);
        match whole {
            Some((unit, unit_ns)) => write!(f, "{}/{unit}", per(*unit_ns) / self.period_ns),
            // Rounding must not make the rate faster than the fastest rate, or slower than the slowest.
            None if self.as_hz() >= 0.1 => write!(f, "{}/s", self.as_hz().min(1e10)),
            None => write!(f, "{}/d", (self.as_hz() * 86_400.0).max(1.0)),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rate({} per {} ns)", self.operations, self.period_ns)
    }
}
