//! Computes the counts and times of a rate that rises along half a wave.

use super::trend::Trend;
use crate::count::{Fine, approximate, hz};
use crate::wide::U256;
use std::f64::consts::PI;

/// A rate that rises from `low` by `rise` in `time_ns`, like `(1 - cos x) / 2` for `x` from 0 to pi.
///
/// The count is `low t + rise / 2 (t - sin x / x t)`. There is no cancellation in the last factor when its series is
/// written as `t z (1 / 3! - z (1 / 5! - ...))`, where `z = x^2`. This formula is for the first half; the second half
/// is its mirror image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swell {
    low: Fine,
    rise: Fine,
    time_ns: u64,
    /// `(pi / time)^2`, with 252 fraction bits.
    square: U256,
}

/// pi^2, with 252 fraction bits.
pub(super) const PI_SQUARED: U256 = U256::from_words(
    0x9de9_e64d_f22e_f2d2_56e2_6cd9_808c_1ac7,
    0x0856_6a3f_e0d0_a228_6682_2102_53c7_368f,
);

/// 1 / 3!, 1 / 5!, 1 / 7! and so on, with 124 fraction bits. The sum of the omitted terms is below 2^-124 for x up to
/// pi / 2.
const SERIES: [u128; 19] = {
    let mut series = [(1 << 124) / 6; 19];
    let mut term: usize = 1;
    while term < series.len() {
        let next = 2 * term as u128 + 2;
        series[term] = series[term - 1] / (next * (next + 1));
        term += 1;
    }
    series
};

impl Swell {
    /// `high` must not be below `low`, and `time_ns` must be positive.
    pub(super) fn new(low: Fine, high: Fine, time_ns: i64) -> Swell {
        let time_ns = time_ns.unsigned_abs();
        let time = U256::from(time_ns);
        Swell { low, rise: high - low + Fine::ONE, time_ns, square: PI_SQUARED / (time * time) }
    }

    pub(super) fn count_at(&self, time_ns: u64) -> Fine {
        let left = self.time_ns - time_ns;
        let near = Fine::from(time_ns.min(left));
        let waved = times(self.rise, self.flatness(near)) * near;
        let ahead = self.rise * Fine::from(time_ns.saturating_sub(left));
        self.low * Fine::from(time_ns) + ((waved + ahead) >> 1)
    }

    /// Returns `1 - sin x / x` with 252 fraction bits, for `x` up to a quarter of a wave.
    fn flatness(&self, time: U256) -> U256 {
        let z = time * time * self.square;
        let short = z >> 128;
        let series = SERIES
            .iter()
            .rev()
            .fold(U256::ZERO, |rest, &factor| U256::from(factor) - ((short * rest) >> 124));
        times(z, series << 128)
    }

    pub(super) fn rate_hz(&self, time_ns: u64) -> f64 {
        let sine = libm::sin(self.angle(time_ns) / 2.0);
        hz(self.low) + hz(self.rise) * sine * sine
    }

    /// The rate is `low + rise (1 - cos x) / 2`, where `x` grows by `wave` each nanosecond.
    pub(super) fn trend(&self, time_ns: u64) -> Trend {
        let (half, wave) = (approximate(self.rise) / 2.0, PI / self.length());
        Trend {
            rate: self.rate_hz(time_ns) / 1e9,
            slope: half * wave * libm::sin(self.angle(time_ns)).abs(),
            slope_change: half * wave * wave,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "for estimates")]
    fn angle(&self, time_ns: u64) -> f64 {
        PI * time_ns as f64 / self.length()
    }

    #[expect(clippy::cast_precision_loss, reason = "for estimates")]
    fn length(&self) -> f64 {
        self.time_ns as f64
    }

    /// Newton's method, which converges from any point after the root, because the curve of the count bends upwards. It
    /// starts where one term alone would reach the count, with `x^2 / 10` as a lower bound of `1 - sin x / x`.
    pub(super) fn time_of(&self, count: f64) -> f64 {
        let (low, half) = (approximate(self.low), approximate(self.rise) / 2.0);
        let wave = PI / self.length();
        let cubic = libm::cbrt(10.0 * count / (half * wave * wave));
        let mut time = self.length().min(cubic).min(count / low);
        for _ in 0..8 {
            let sine = libm::sin(wave * time);
            let there = low * time + half * (time - sine / wave);
            let rate = low + half * (1.0 - libm::cos(wave * time));
            let step = (there - count) / rate;
            time -= step;
            if step < 0.5 {
                break;
            }
        }
        time
    }
}

/// Returns `number` times `part`, which has 252 fraction bits and is below 8. The result never decreases as `part`
/// grows.
pub(super) fn times(number: U256, part: U256) -> U256 {
    let (n, low_n) = (number >> 128, U256::from(number.low()));
    let (p, low_p) = (part >> 128, U256::from(part.low()));
    ((n * p) << 4) + ((n * low_p) >> 124) + ((low_n * p) >> 124)
}
