//! Defines the numbers and quotas that the fuzz targets generate.

use arbitrary::Arbitrary;
use nanopace::Nanos;
use nanopace_limits::Quota;
use std::time::Duration;

/// A 64-bit number of any magnitude: a plain `u64` would nearly always be huge.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    /// A number below 256.
    Small(u8),
    /// A 32-bit number, shifted left by up to 32 bits.
    Scaled(u32, u8),
    /// The latest time of a [`Nanos`], minus this number.
    BelowTheLastMoment(u8),
    /// Any 64-bit number.
    Any(u64),
}

impl Number {
    #[must_use]
    pub fn get(self) -> u64 {
        match self {
            Number::Small(number) => number.into(),
            Number::Scaled(number, bits) => u64::from(number) << (bits % 33),
            Number::BelowTheLastMoment(number) => Nanos::MAX.as_nanos() - u64::from(number),
            Number::Any(number) => number,
        }
    }

    /// Returns the number if it is from 1 to `most`, and otherwise a number in that range.
    #[must_use]
    pub fn up_to(self, most: u64) -> u64 {
        match self.get() {
            number if (1..=most).contains(&number) => number,
            number => number % most + 1,
        }
    }
}

/// A quota of any valid count and period.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyQuota {
    count: Number,
    period: Number,
}

impl AnyQuota {
    /// Returns the quota.
    ///
    /// # Panics
    /// Never: the numbers are within their ranges.
    #[must_use]
    pub fn get(self) -> Quota {
        let period_ns = self.period.up_to(Nanos::MAX.as_nanos());
        Quota::new(self.count.up_to(period_ns), Duration::from_nanos(period_ns))
            .expect("within its range")
    }
}
