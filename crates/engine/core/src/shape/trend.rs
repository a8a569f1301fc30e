//! Describes how a rate changes after a given time, and how long chords and parabolas stay close to the curve of the
//! count.

/// If a chord spans at least this many slots, a parabola is not worth its cost.
const PLENTY: f64 = 2_048.0;

/// A rate and its derivatives at a given time, in slots and nanoseconds.
///
/// Let r be the rate, s its slope, and b the change of the slope. As long as `s h` and `b h^2` are at most `r / 64`,
/// the rate is between 31/32 r and 33/32 r, and its slope is at most `s + b h`, also backwards in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trend {
    pub(super) rate: f64,
    /// The absolute value of the slope of the rate.
    pub(super) slope: f64,
    /// The upper bound of the absolute change of the slope at any time.
    pub(super) slope_change: f64,
}

impl Trend {
    /// Returns how long the rate certainly stays between 31/32 and 33/32 of its initial value.
    fn steady_ns(&self) -> f64 {
        let by_slope = self.rate / (64.0 * self.slope);
        by_slope.min(libm::sqrt(self.rate / (64.0 * self.slope_change)))
    }

    /// Returns how long the chord that begins at this time stays within 1 ns of the curve.
    ///
    /// Where slopes are at most p, a curve deviates from its chord by at most p h^2 / 8 slots. In time that is at most
    /// p h^2 / 7r, because the lowest rate is above 7/8 r. The slope p is at most s + b h. The allowed error of 1 ns
    /// is split equally between the two terms.
    pub(super) fn straight_ns(&self) -> f64 {
        let by_slope = libm::sqrt(3.5 * self.rate / self.slope);
        let by_change = libm::cbrt(3.5 * self.rate / self.slope_change);
        by_slope.min(by_change).min(self.steady_ns())
    }

    /// Treats time as a function of the count. Returns how long a parabola stays within 1/4 ns of the curve. The
    /// parabola meets the curve at this time, after half of its duration, and at its end. Returns zero where a chord is
    /// as good.
    ///
    /// Let n slots start in the first half of the duration h, and N slots in all of it. If the third derivative of time
    /// with respect to the count is at most d, the parabola deviates from the curve by at most d / 6 times the maximum
    /// of x (x - n) (x - N). This maximum is 0.051 N^3, because n is between 31/64 and 33/64 of N, even if half of the
    /// duration is rounded to a whole nanosecond (`schedule/curve_fit.rs`). N is at most 33/32 r h. If the rate has the
    /// derivatives r' and r'', d is at most (3 r'^2 - r r'') / r^5. Within the bounds above, this is at most (7/2 s^2 +
    /// 3/2 r b) / (31/32 r)^5, because 3 (s + b h)^2 <= 7/2 s^2 + 24 b^2 h^2 and b h^2 <= r / 64. These bounds combined
    /// keep the deviation below 1/4 ns as long as h^3 is at most 22 r^2 / (7/2 s^2 + 3/2 r b).
    pub(super) fn bent_ns(&self) -> f64 {
        let Trend { rate, slope, slope_change } = *self;
        if rate * self.straight_ns() >= PLENTY {
            return 0.0;
        }
        let third = 3.5 * slope * slope + 1.5 * rate * slope_change;
        libm::cbrt(22.0 * rate * rate / third).min(self.steady_ns())
    }
}
