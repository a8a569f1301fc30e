//! Arbitrary numbers, quotas and clock readings for the fuzz targets.

use arbitrary::Arbitrary;
use nanopace::Nanos;
use nanopace_limits::Quota;
use std::time::Duration;

/// A number of 64 bits, of any magnitude: a plain `u64` would nearly always be huge.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    /// A small number.
    Small(u8),
    /// A large number, or one with many digits.
    Scaled(u32, u8),
    /// Just below the end of time, or the largest number.
    BelowTheLastMoment(u8),
    /// Any number.
    Any(u64),
}

impl Number {
    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        match self {
            Number::Small(number) => number.into(),
            Number::Scaled(number, bits) => u64::from(number) << (bits % 33),
            Number::BelowTheLastMoment(number) => Nanos::MAX.as_nanos() - u64::from(number),
            Number::Any(number) => number,
        }
    }

    /// The number, limited to the range from 1 to `most`, which must not be 0.
    #[must_use]
    pub fn up_to(self, most: u64) -> u64 {
        match self.get() {
            number if (1..=most).contains(&number) => number,
            number => number % most + 1,
        }
    }
}

/// A quota of any count and period.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyQuota {
    count: Number,
    period: Number,
}

impl AnyQuota {
    /// The quota.
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

/// A change of a clock's reading, forwards or backwards by any span.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Move {
    /// Forwards by this many intervals of a quota, and a little more or less.
    Intervals(u8, i8),
    /// Forwards by this many periods of a quota, and a little more or less.
    Periods(u8, i8),
    /// Forwards by any span.
    On(Number),
    /// Backwards by any span.
    Back(Number),
}

impl Move {
    /// The reading after this move from `now`.
    #[must_use]
    pub fn from(self, now: Nanos, quota: Quota) -> Nanos {
        let moment = now.as_nanos();
        let spans = |span: u64, count: u8, more: i8| {
            span.saturating_mul(count.into()).saturating_add_signed(more.into())
        };
        Nanos::from_nanos(match self {
            Move::Intervals(count, more) => {
                moment.saturating_add(spans(quota.period_ns() / quota.count(), count, more))
            }
            Move::Periods(count, more) => {
                moment.saturating_add(spans(quota.period_ns(), count, more))
            }
            Move::On(span) => moment.saturating_add(span.get()),
            Move::Back(span) => moment.saturating_sub(span.get()),
        })
    }
}
