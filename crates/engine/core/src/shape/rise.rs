//! Computes the counts and times of a rate that rises linearly.

use super::trend::Trend;
use crate::count::{Fine, approximate, hz};

/// A rate that begins at `low` and rises by twice `growth` every nanosecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rise {
    low: Fine,
    /// Half of the slope in slots per square nanosecond, with [`GROWTH_BITS`] more fraction bits than `low`.
    growth: Fine,
    about: (f64, f64),
}

const GROWTH_BITS: u32 = 64;

impl Rise {
    /// `high` must not be below `low`, and `time_ns` must be positive.
    pub(super) fn new(low: Fine, high: Fine, time_ns: i64) -> Rise {
        let rise = (high - low + Fine::ONE) << GROWTH_BITS;
        let growth = rise / (Fine::from(time_ns.unsigned_abs()) << 1) + Fine::ONE;
        let about = (approximate(low), libm::ldexp(approximate(growth), -64));
        Rise { low, growth, about }
    }

    /// The count is rounded up by less than 3 units per nanosecond.
    pub(super) fn count_at(&self, time_ns: u64) -> Fine {
        let time = Fine::from(time_ns);
        let mean = self.low + ((self.growth * time) >> GROWTH_BITS) + Fine::ONE;
        mean * time
    }

    pub(super) fn rate_hz(&self, time_ns: u64) -> f64 {
        hz(self.low + ((self.growth * Fine::from(time_ns)) >> (GROWTH_BITS - 1)))
    }

    /// The maximum relative error of [`time_of`](Rise::time_of): 16 roundings of 2^-53. Each of its three numbers
    /// (`low`, `growth` and `count`) has two roundings. The relative errors of these numbers enter the result with
    /// weights of at most 1, 1/2 and 1, because the rate does not fall. The steps of the formula, in which there is no
    /// cancellation, add four roundings. Rounding up the [counts](Fine) adds less than one more: a rate at which a slot
    /// comes is above 2^-122 slots per nanosecond.
    pub(super) const ERROR: f64 = 16.0 * (f64::EPSILON / 2.0);

    /// Solves `low t + growth t^2 = count`, in the form without cancellation.
    pub(super) fn time_of(&self, count: f64) -> f64 {
        let (low, growth) = self.about;
        2.0 * count / (low + libm::sqrt(low * low + 4.0 * growth * count))
    }

    pub(super) fn trend(&self, time_ns: u64) -> Trend {
        let (low, growth) = self.about;
        let slope = 2.0 * growth;
        #[expect(clippy::cast_precision_loss, reason = "for estimates")]
        let rate = low + slope * time_ns as f64;
        Trend { rate, slope, slope_change: 0.0 }
    }

    /// Returns how long the chord that begins at `time_ns` stays within 1 ns of the curve.
    ///
    /// Let h be the chord's length in time, m its rate, r the rate at `time_ns`, and r' the slope of the rate. The
    /// curve deviates from the chord by at most r' h^2 / 8 slots, which is r' h^2 / (8 m) in time. The rate m is r + r'
    /// h / 2, or r - r' h / 2 when time runs `backwards`. The deviation is 1 ns when h^2 = 8 r / r' + 4 h, or, with
    /// time `backwards`, when h^2 = 8 r / r' - 4 h.
    pub(super) fn straight_for(&self, time_ns: u64, backwards: bool) -> f64 {
        let Trend { rate, slope, .. } = self.trend(time_ns);
        let root = libm::sqrt(4.0 + 8.0 * rate / slope);
        if backwards { root - 2.0 } else { root + 2.0 }
    }
}
