//! How a rate continues from a moment on: how long simple lines stay close to the curve of its count.

/// A chord with this many slots is as good as a parabola.
const PLENTY: f64 = 2_048.0;

/// A rate from a moment on, in slots and nanoseconds.
///
/// Call the rate r, its slope s, and the change of the slope b. As long as `s h` and `b h^2` are at most `r / 64`, the
/// rate is between 31/32 r and 33/32 r, and its slope at most `s + b h`. Within these bounds two lengths are derived.
/// They hold backwards, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trend {
    pub(super) rate: f64,
    /// How fast the rate changes at that moment, without a sign.
    pub(super) slope: f64,
    /// The upper bound of the change of the slope, at any time, without a sign.
    pub(super) slope_change: f64,
}

impl Trend {
    /// How long the rate stays between 31/32 and 33/32 of its initial value.
    fn steady_ns(&self) -> f64 {
        let by_slope = self.rate / (64.0 * self.slope);
        by_slope.min(libm::sqrt(self.rate / (64.0 * self.slope_change)))
    }

    /// How long the chord from this moment on stays within 1 ns of the curve.
    ///
    /// Where slopes are at most p, a curve leaves its chord by p h^2 / 8 slots at most. In time that is no more than p
    /// h^2 / 7r, because the lowest rate is above 7/8 r. Half of the nanosecond is for s, the other half for b h.
    pub(super) fn straight_ns(&self) -> f64 {
        let by_slope = libm::sqrt(3.5 * self.rate / self.slope);
        let by_change = libm::cbrt(3.5 * self.rate / self.slope_change);
        by_slope.min(by_change).min(self.steady_ns())
    }

    /// How long the parabola of time by count that meets the curve at this moment, after half of that time
    /// and after all of it stays within 1/4 ns of the curve. Zero where a chord is as good.
    ///
    /// Let n slots come in the first half of the time h, and N in all of it. Where the third derivative
    /// of time by count is at most d, the parabola leaves the curve by d / 6 times the most of
    /// x (x - n) (x - N). That is 0.051 N^3, since n is between 31/64 and 33/64 of N, also with a half that is
    /// rounded to a whole nanosecond (`schedule/curve_fit.rs`), and N is at most 33/32 r h. If the rate has the
    /// derivatives r' and r'', then d is (3 r'^2 - r r'') / r^5 at most, which within the bounds above is no more
    /// than (7/2 s^2 + 3/2 r b) / (31/32 r)^5, because of 3 (s + b h)^2 <= 7/2 s^2 + 24 b^2 h^2 and b h^2 <= r / 64.
    /// Together, the difference is less than 1/4 ns at h^3 = 22 r^2 / (7/2 s^2 + 3/2 r b).
    pub(super) fn bent_ns(&self) -> f64 {
        let Trend { rate, slope, slope_change } = *self;
        if rate * self.straight_ns() >= PLENTY {
            return 0.0;
        }
        let third = 3.5 * slope * slope + 1.5 * rate * slope_change;
        libm::cbrt(22.0 * rate * rate / third).min(self.steady_ns())
    }
}
