//! Quotas: a number of requests per period.

use alloc::string::String;
use core::fmt;
use core::time::Duration;
use thiserror::Error;

/// A number of requests per period: a `count` of 1 or more, in a `period` of 1 ns to 2^63 - 1 ns (292 years),
/// and at most one request per nanosecond. Both numbers are stored unchanged, so 3 per minute is exact.
///
/// As a string, a quota is `COUNT[k|M|G]/PERIOD`. The period is a span such as `60s`, `1h 30m` or `100ms`, or a unit
/// alone: `ns`, `us`, `ms`, `s`, `m` or `min`, `h`, `d` or `day`, `w`, `month` (30.44 days), `y` (365.25 days), and the
/// longer forms of the crate `humantime`. There is no period `M`: that letter is the factor of a million.
///
/// ```
/// use nanopace_limits::Quota;
/// use std::time::Duration;
///
/// let quota: Quota = "3/60s".parse()?;
/// assert_eq!(quota, Quota::new(3, Duration::from_secs(60))?);
/// assert_eq!("10k/s".parse::<Quota>()?, Quota::new(10_000, Duration::from_secs(1))?);
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    count: u64,
    period_ns: u64,
}

/// The error for an invalid [`Quota`], or for another invalid number of a rule: a capacity, an initial fill, a cost, a
/// backfill ratio, an interval or a slot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuotaError {
    /// Zero requests per period.
    #[error("a quota of zero admits nothing: write 1 or more, such as 1/h")]
    ZeroCount,
    /// More requests than the period has nanoseconds, or an empty period.
    #[error("a quota is at most one request per nanosecond: write 1G/s or less")]
    TooFast,
    /// A period of 2^63 ns or more.
    #[error("a period lasts at most 2^63 - 1 ns, 292 years: write a shorter one, such as 1/day")]
    PeriodTooLong,
    /// A string that does not have the form COUNT/PERIOD.
    #[error(
        "`{0}` is not a quota: write a count, a slash and a period, such as 10/s, 3/60s, 5k/h or 1/day"
    )]
    Syntax(String),
    /// A period with the unit `M`, which could mean a month, a minute or a million.
    #[error(
        "`{0}`: M is a factor, not a period: write 10/month, 10/min, or 10M/s for ten million per second"
    )]
    FactorAsPeriod(String),
    /// A capacity of zero, or a capacity below the cost of one request.
    #[error("that capacity admits nothing: write at least {least}, the cost of one request")]
    CapacityTooSmall {
        /// The smallest valid capacity: the cost of one request.
        least: u64,
    },
    /// A capacity that would take more than 292 years to fill at this rate, or a pool of more than 2^63 tokens.
    #[error("that capacity is too large: write at most {most}")]
    CapacityTooLarge {
        /// The largest valid capacity.
        most: u64,
    },
    /// An initial number of tokens that exceeds the capacity.
    #[error("the initial fill exceeds the capacity: write at most {capacity}")]
    InitialTooLarge {
        /// The capacity, which is the largest valid number of initial tokens.
        capacity: u64,
    },
    /// A cost of zero. A request that costs nothing would never be limited.
    #[error("a cost of zero is never limited: write a cost of 1 or more")]
    ZeroCost,
    /// A backfill ratio that is below 1 or not finite.
    #[error(
        "a backfill ratio is the largest fill of a pool relative to its size: write 1 or more, such as 1.25"
    )]
    Ratio,
    /// A refill interval of zero or of more than a day, or a slot of zero.
    #[error("a slot lasts at least 1 ns, a refill interval 1 ns to 1 day: write one such as 10ms")]
    Interval,
}

impl Quota {
    /// Creates a quota of `count` requests per `period`.
    ///
    /// # Errors
    /// Returns [`QuotaError::ZeroCount`] for zero requests, [`QuotaError::TooFast`] for more than one request per
    /// nanosecond, and [`QuotaError::PeriodTooLong`] for a period of 2^63 ns or more.
    pub fn new(count: u64, period: Duration) -> Result<Quota, QuotaError> {
        let period_ns =
            i64::try_from(period.as_nanos()).map_err(|_| QuotaError::PeriodTooLong)?.unsigned_abs();
        match count {
            0 => Err(QuotaError::ZeroCount),
            _ if count > period_ns => Err(QuotaError::TooFast),
            _ => Ok(Quota { count, period_ns }),
        }
    }

    /// Returns the number of requests per period: 1 or more.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Returns the period of this quota.
    #[must_use]
    pub const fn period(self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// Returns the period in nanoseconds: 1 to 2^63 - 1.
    #[must_use]
    pub const fn period_ns(self) -> u64 {
        self.period_ns
    }
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quota({}/{:?})", self.count, self.period())
    }
}
