//! How many operations per how much time, kept exact.

mod parse;

use crate::error::RateError;
use crate::position::SLOT;
use crate::scale::Scale;
use std::fmt;
use std::time::Duration;

/// A rate: a whole number of operations per whole number of nanoseconds, kept as an exact fraction.
///
/// The range is one operation per day to 10 G per second; everything else is a [`RateError`].
/// Nothing is rounded to whole nanoseconds or hertz: 3 per second is 3 per second for ever.
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
    /// `operations / period_ns` in lowest terms; below 2^64 and 2^108, so that no product here
    /// overflows.
    operations: u128,
    period_ns: u128,
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_DAY: u128 = 86_400 * NANOS_PER_SECOND;
/// Those that a rate is shown in.
const UNITS: [(&str, u128); 4] = [
    ("s", NANOS_PER_SECOND),
    ("min", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
    ("d", NANOS_PER_DAY),
];
const MOST_PER_SECOND: u128 = 10_000_000_000;

impl Rate {
    /// `operations` per second.
    ///
    /// # Errors
    /// [`RateError`] for zero and for more than 10 G per second.
    pub fn per_second(operations: u64) -> Result<Rate, RateError> {
        Rate::exact(operations.into(), NANOS_PER_SECOND)
    }

    /// `operations` per `period`, which is taken exactly.
    ///
    /// # Errors
    /// [`RateError`] for zero operations, an empty period, and rates outside 1 per day to 10 G per
    /// second.
    pub fn per(operations: u64, period: Duration) -> Result<Rate, RateError> {
        Rate::exact(operations.into(), period.as_nanos())
    }

    /// `hz` operations per second; the floating-point number is taken at its exact value.
    ///
    /// # Errors
    /// [`RateError`] for zero, negative and non-finite numbers, and rates outside 1 per day to 10 G
    /// per second.
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
        // Outside 2^-17 .. 2^34 is outside the range of rates, and would overflow the exact
        // fraction below.
        if hz < 7.6e-6 {
            return Err(RateError::TooSlow);
        }
        if hz > 1.7e10 {
            return Err(RateError::TooFast);
        }
        // A float is mantissa * 2^exponent; here the exponent lies within -69 ..= -19.
        let exponent = i32::try_from(hz.to_bits() >> 52).unwrap_or(0) - 1075;
        let mantissa = u128::from(hz.to_bits() & ((1 << 52) - 1) | 1 << 52);
        Rate::exact(mantissa, NANOS_PER_SECOND << -exponent)
    }

    /// The one constructor; `operations` below 2^64, `period_ns` below 2^108.
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

    /// Operations per second, to the precision of an `f64`; for showing, not for computing
    /// schedules.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "documented as approximate")]
    pub fn as_hz(self) -> f64 {
        self.operations as f64 * NANOS_PER_SECOND as f64 / self.period_ns as f64
    }

    /// The time between two intended starts, in nanoseconds, to the precision of an `f64`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "documented as approximate")]
    pub fn interval_ns(self) -> f64 {
        self.period_ns as f64 / self.operations as f64
    }

    /// Nanoseconds per tick.
    pub(crate) fn scale(self) -> Scale {
        Scale::from_ratio(self.period_ns, self.operations * u128::from(SLOT))
    }

    /// Nanoseconds per tick when running `ratio_q32 / 2^32` times as fast; the ratio is below 2^48.
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
    /// As [`FromStr`](std::str::FromStr) reads it: a whole number per second, minute, hour or day
    /// if there is one, else to the precision of an `f64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = |unit_ns: u128| self.operations * unit_ns;
        let whole = UNITS.iter().find(|(_, unit_ns)| per(*unit_ns) % self.period_ns == 0);
        match whole {
            Some((unit, unit_ns)) => write!(f, "{}/{unit}", per(*unit_ns) / self.period_ns),
            // Neither faster than the fastest rate nor slower than the slowest by rounding.
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
