//! Defines quotas: how many cells per period, and how many in one request.

use std::num::NonZeroU32;
use std::time::Duration;

/// A rate, and a burst size.
///
/// The rate is stored exactly. For example, 3 per second stays 3 per second, although
/// [`replenish_interval`](Quota::replenish_interval) returns whole nanoseconds. The burst size is the maximum `n` of
/// [`check_n`](crate::RateLimiter::check_n). It also limits the time that is made up for after a stall, to one burst or
/// to 100 ms if that is more. A limiter does not start with a burst.
///
/// ```
/// use governor::Quota;
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// const FIFTY: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// let quota = Quota::per_second(FIFTY);
/// assert_eq!(quota.replenish_interval(), Duration::from_millis(20));
/// assert_eq!(quota.burst_size(), FIFTY);
///
/// let even = quota.allow_burst(NonZeroU32::MIN);
/// assert_eq!(even, Quota::with_period(Duration::from_millis(20)).ok_or("zero")?);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    cells: NonZeroU32,
    period: Duration,
    max_burst: NonZeroU32,
}

impl Quota {
    /// Returns a quota of `max_burst` cells per second, with bursts of up to `max_burst` cells.
    #[must_use]
    pub const fn per_second(max_burst: NonZeroU32) -> Quota {
        Quota::per(max_burst, Duration::from_secs(1))
    }

    /// Returns a quota of `max_burst` cells per minute, with bursts of up to `max_burst` cells.
    #[must_use]
    pub const fn per_minute(max_burst: NonZeroU32) -> Quota {
        Quota::per(max_burst, Duration::from_secs(60))
    }

    /// Returns a quota of `max_burst` cells per hour, with bursts of up to `max_burst` cells.
    #[must_use]
    pub const fn per_hour(max_burst: NonZeroU32) -> Quota {
        Quota::per(max_burst, Duration::from_secs(3_600))
    }

    /// Returns a quota of one cell per period, with bursts of one cell. Returns `None` if the period is zero.
    ///
    /// ```
    /// use governor::Quota;
    /// use std::time::Duration;
    ///
    /// assert!(Quota::with_period(Duration::from_millis(90)).is_some());
    /// assert!(Quota::with_period(Duration::ZERO).is_none());
    /// ```
    #[must_use]
    pub const fn with_period(replenish_1_per: Duration) -> Option<Quota> {
        if replenish_1_per.is_zero() {
            return None;
        }
        Some(Quota::per(NonZeroU32::MIN, replenish_1_per))
    }

    /// Returns a quota of `max_burst` cells per period, with bursts of `max_burst` cells. Returns `None` if the period
    /// is zero.
    #[deprecated(note = "use another constructor, and `allow_burst` for the burst size")]
    #[must_use]
    pub const fn new(max_burst: NonZeroU32, replenish_all_per: Duration) -> Option<Quota> {
        if replenish_all_per.is_zero() {
            return None;
        }
        Some(Quota::per(max_burst, replenish_all_per))
    }

    /// Returns a quota with the same rate and a different burst size.
    #[must_use]
    pub const fn allow_burst(self, max_burst: NonZeroU32) -> Quota {
        Quota { max_burst, ..self }
    }

    /// Returns the time from one cell to the next, rounded down to whole nanoseconds.
    #[must_use]
    pub const fn replenish_interval(&self) -> Duration {
        match self.period.checked_div(self.cells.get()) {
            Some(interval) => interval,
            None => self.period,
        }
    }

    /// Returns the maximum number of cells of one request.
    #[must_use]
    pub const fn burst_size(&self) -> NonZeroU32 {
        self.max_burst
    }

    /// Returns the time that a whole burst takes at the rate.
    #[must_use]
    pub const fn burst_size_replenished_in(&self) -> Duration {
        self.replenish_interval().saturating_mul(self.max_burst.get())
    }

    const fn per(cells: NonZeroU32, period: Duration) -> Quota {
        Quota { cells, period, max_burst: cells }
    }

    pub(crate) fn cells_per_period(&self) -> (NonZeroU32, Duration) {
        (self.cells, self.period)
    }
}

impl PartialEq for Quota {
    /// Returns whether both quotas have the same rate and burst size. 60 per minute is the same rate as 1 per second.
    fn eq(&self, other: &Quota) -> bool {
        // The product fits into 128 bits, because its factors are below 2^94 and 2^32.
        let product = |a: &Quota, b: &Quota| a.period.as_nanos() * u128::from(b.cells.get());
        self.max_burst == other.max_burst && product(self, other) == product(other, self)
    }
}

impl Eq for Quota {}
