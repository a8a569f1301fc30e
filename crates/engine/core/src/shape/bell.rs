//! Computes the counts and times of a rate that rises to a peak like the first half of a bell curve.

use super::swell::{PI_SQUARED, times};
use super::trend::Trend;
use crate::count::{Fine, approximate, hz};
use crate::wide::U256;
use std::f64::consts::PI;

/// A rate that rises from `low` by `rise` in `time_ns`, like `sin^4(x / 2)` for `x` from 0 to pi.
///
/// With `sin^4(x / 2) = (3 - 4 cos x + cos 2x) / 8`, the count is `low t + rise t / 8 (3 - 4 sin x / x + sin 2x / 2x)`.
/// As a series with `z = x^2`, the last term is `rise t / 80 z^2 (1 - ...)`. This series is used for the first half of
/// the time. In the second half, the last term is the term of the whole time minus the term of the remaining time `t`.
/// With `z = (pi - x)^2`, the term of the remaining time is `rise t / 8 (8 - 4/3 z (1 - ...))`.
///
/// The two series have the terms `(4^k - 4) / (2k + 1)!` and `(4^k + 4) / (2k + 1)!` times `z^k`, with alternating
/// signs. They are computed from the ratios of their terms, so that rounding errors do not grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bell {
    low: Fine,
    rise: Fine,
    time_ns: u64,
    /// `(pi / time)^2`, with 252 fraction bits.
    square: U256,
}

/// The ratios of the terms of the two series, each term to the one before it, with 124 fraction bits. The omitted terms
/// are below 2^-124 for x up to pi / 2.
const FROM_START: [u128; 24] = ratios(2, false);
const TO_END: [u128; 24] = ratios(1, true);

/// Returns the ratios `(4^(k + 1) ± 4) / (4^k ± 4) / (2k + 2) / (2k + 3)` from `first` on, with plus signs if
/// `is_sum`.
const fn ratios(first: u32, is_sum: bool) -> [u128; 24] {
    let mut ratios = [0; 24];
    let mut k = first;
    while k < first + 24 {
        let power = 1_u128 << (2 * (k - 1));
        let four = 4_u128 << 124;
        let factor =
            if is_sum { four - (3 << 124) / (power + 1) } else { four + (3 << 124) / (power - 1) };
        ratios[(k - first) as usize] = factor / ((2 * k + 2) * (2 * k + 3)) as u128;
        k += 1;
    }
    ratios
}

impl Bell {
    /// `high` must not be below `low`, and `time_ns` must be positive.
    pub(super) fn new(low: Fine, high: Fine, time_ns: i64) -> Bell {
        let time_ns = time_ns.unsigned_abs();
        let time = U256::from(time_ns);
        Bell { low, rise: high - low + Fine::ONE, time_ns, square: PI_SQUARED / (time * time) }
    }

    pub(super) fn count_at(&self, time_ns: u64) -> Fine {
        self.low * Fine::from(time_ns) + self.risen_by(time_ns)
    }

    fn risen_by(&self, time_ns: u64) -> Fine {
        let left = Fine::from(self.time_ns - time_ns);
        if time_ns <= self.time_ns / 2 {
            let time = Fine::from(time_ns);
            let z = time * time * self.square;
            let part = times(times(z, z), series(z, &FROM_START));
            return times(self.rise, part) * time / Fine::from(80_u8);
        }
        let z = left * left * self.square;
        let waved = times(self.rise, times(z, series(z, &TO_END))) * left;
        let all = self.rise * Fine::from(self.time_ns) * Fine::from(9_u8);
        (all + (waved << 2) - self.rise * left * Fine::from(24_u8)) / Fine::from(24_u8)
    }

    pub(super) fn rate_hz(&self, time_ns: u64) -> f64 {
        hz(self.low) + hz(self.rise) * self.sine(time_ns).powi(4)
    }

    /// Returns the rate and its slope: the rate is `low + rise s^4`, where `s = sin(x / 2)` and `x` grows by `wave`
    /// each nanosecond. The slope changes by `rise wave^2 (3 s^2 - 4 s^4)`, the magnitude of which is largest at the
    /// end, where `s = 1`.
    pub(super) fn trend(&self, time_ns: u64) -> Trend {
        let (rise, wave, sine) = (approximate(self.rise), self.wave(), self.sine(time_ns));
        let cosine = libm::cos(wave * float(time_ns) / 2.0).abs();
        Trend {
            rate: self.rate_hz(time_ns) / 1e9,
            slope: 2.0 * rise * wave * sine.powi(3) * cosine,
            slope_change: rise * wave * wave,
        }
    }

    /// Newton's method, which starts where one term alone would reach the count. That time is after the root, because
    /// `sin(x / 2) >= x / pi`, and the curve of the count bends upwards.
    pub(super) fn time_of(&self, count: f64) -> f64 {
        let (low, rise) = (approximate(self.low), approximate(self.rise));
        let (wave, length) = (self.wave(), float(self.time_ns));
        let risen = length * libm::pow(5.0 * count / (rise * length), 0.2);
        let mut time = length.min(risen).min(count / low);
        for _ in 0..8 {
            let rate = low + rise * libm::sin(wave * time / 2.0).powi(4);
            let step = (low * time + rise / wave * area(wave * time) - count) / rate;
            time -= step;
            if step < 0.5 {
                break;
            }
        }
        time
    }

    fn sine(&self, time_ns: u64) -> f64 {
        libm::sin(self.wave() * float(time_ns) / 2.0)
    }

    fn wave(&self) -> f64 {
        PI / float(self.time_ns)
    }
}

/// Returns `1 - r z (1 - r z (...))` for these ratios `r`, with 252 fraction bits. `z` has 252 fraction bits.
fn series(z: U256, ratios: &[u128]) -> U256 {
    let (one, short) = (U256::from(1_u128 << 124), z >> 128);
    let sum = ratios
        .iter()
        .rev()
        .fold(one, |rest, &ratio| one - ((((short * U256::from(ratio)) >> 124) * rest) >> 124));
    sum << 128
}

/// Returns the area under `sin^4(x / 2)` up to `x`. Small areas are computed from the series.
fn area(x: f64) -> f64 {
    if x > 1.0 {
        return (6.0 * x - 8.0 * libm::sin(x) + libm::sin(2.0 * x)) / 16.0;
    }
    let z = x * x;
    let sum = FROM_START[..10]
        .iter()
        .rev()
        .fold(1.0, |rest, &ratio| 1.0 - z * approximate(U256::from(ratio) << 60) * rest);
    x * z * z * sum / 80.0
}

#[expect(clippy::cast_precision_loss, reason = "for estimates")]
fn float(ns: u64) -> f64 {
    ns as f64
}
