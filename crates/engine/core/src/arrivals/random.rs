//! Generates streams of random numbers. The streams can be computed in any order.
//!
//! The seed and the stream's name (process, run, level and index) determine the numbers of a stream. The distributions
//! are implemented here, because other crates may change theirs in a new version, or use the platform's functions.

use super::chacha::ChaCha8;

#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    Renewal = 1,
    ExactPoisson = 2,
    Jitter = 3,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) seed: u64,
    pub(super) of: Use,
    pub(super) run: u64,
}

impl Key {
    pub(super) fn numbers(self, level: u32, index: u64) -> Numbers {
        let name = u64::from(level) << 8 | self.of as u64;
        Numbers(ChaCha8::new([self.seed, name, self.run, index]))
    }
}

#[derive(Debug)]
pub(super) struct Numbers(ChaCha8);

impl Numbers {
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a uniform number above 0 and below 1: an odd multiple of 2^-53.
    #[expect(clippy::cast_precision_loss, reason = "an `f64` holds 52 bits exactly")]
    fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 52) as f64;
        ((self.bits() >> 12) as f64 + 0.5) * STEP
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Ratio of uniforms with the bounds of Leva, "A fast normal random number generator", TOMS 1992.
    fn normal(&mut self) -> f64 {
        loop {
            let u = self.unit();
            let v = 1.7156 * (self.unit() - 0.5);
            let (x, y) = (u - 0.449_871, v.abs() + 0.386_595);
            let bound = x * x + y * (0.196 * y - 0.254_72 * x);
            if bound < 0.275_97 || (bound <= 0.278_46 && v * v <= -4.0 * u * u * libm::log(u)) {
                return v / u;
            }
        }
    }

    #[expect(clippy::float_cmp, reason = "the other branches are also exact near 1")]
    pub(super) fn gamma(&mut self, shape: f64) -> f64 {
        if shape == 1.0 {
            self.exponential()
        } else if shape < 1.0 {
            self.gamma_below_one(shape)
        } else {
            self.gamma_above_one(shape)
        }
    }

    /// Method GS of Ahrens and Dieter, cited at [`gamma`](super::Arrivals::gamma), for a `shape` below 1.
    fn gamma_below_one(&mut self, shape: f64) -> f64 {
        let area = 1.0 + shape / std::f64::consts::E;
        loop {
            let point = area * self.unit();
            let uniform = self.unit();
            if point <= 1.0 {
                let x = libm::exp(libm::log(point) / shape);
                if uniform <= 1.0 - x || libm::log(uniform) <= -x {
                    return x;
                }
            } else {
                let x = -libm::log((area - point) / shape);
                if libm::log(uniform) <= (shape - 1.0) * libm::log(x) {
                    return x;
                }
            }
        }
    }

    /// Method of Marsaglia and Tsang, cited at [`gamma`](super::Arrivals::gamma), for a `shape` of 1 or more.
    fn gamma_above_one(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let y = c * x;
            if y <= -1.0 {
                continue;
            }
            let uniform = self.unit();
            let squared = x * x;
            // With v = (1 + y)^3, the test of Marsaglia and Tsang is ln(uniform) < x^2 / 2 + d - d v + d ln v. All
            // terms except the remainder of the logarithm's series cancel, since x^2 = 9 d y^2.
            if uniform < 1.0 - 0.0331 * squared * squared
                || libm::log(uniform) < 3.0 * d * rest_of_logarithm(y)
            {
                return d * (1.0 + y) * (1.0 + y) * (1.0 + y);
            }
        }
    }
}

/// Returns `ln(1 + y) - (y - y^2 / 2 + y^3 / 3)`, with a relative error of at most 2^-30.
fn rest_of_logarithm(y: f64) -> f64 {
    if y.abs() > 1.0 / 64.0 {
        return libm::log1p(y) - y * (1.0 - y * (1.0 / 2.0 - y / 3.0));
    }
    let series = (5..=11).rev().fold(0.0, |sum, n| y * (1.0 / f64::from(n) - sum));
    y * y * y * (series - 1.0 / 4.0) * y
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{
        KS_LEVEL, Law, exponential, gamma_four, gamma_half, kolmogorov_smirnov, normal, two_samples,
    };
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;
    use rand_distr::Distribution;

    const SEED: u64 = 1;

    fn numbers(index: u64) -> Numbers {
        Key { seed: SEED, of: Use::Renewal, run: 0 }.numbers(0, index)
    }

    fn gammas(shape: f64, n: usize) -> Vec<f64> {
        let mut numbers = numbers(shape.to_bits());
        (0..n).map(|_| numbers.gamma(shape)).collect()
    }

    #[test]
    fn gamma_has_the_distribution_of_its_formula() {
        let laws: [(f64, Law); 3] = [(0.5, gamma_half), (1.0, exponential), (4.0, gamma_four)];
        for (shape, law) in laws {
            let distance = kolmogorov_smirnov(gammas(shape, 100_000), law);
            assert!(distance < KS_LEVEL, "{shape}: {distance}");
        }
        let mut numbers = numbers(0);
        let sample = (0..100_000).map(|_| numbers.gamma_above_one(1.0)).collect();
        let distance = kolmogorov_smirnov(sample, exponential);
        assert!(distance < KS_LEVEL, "{distance}");
    }

    #[test]
    fn gamma_has_the_distribution_of_another_implementation() {
        for shape in [0.01, 0.1, 0.7, 1.2, 2.5, 30.0, 1_000.0] {
            let other = rand_distr::Gamma::new(shape, 1.0).unwrap();
            let mut numbers = ChaCha8Rng::from_seed([2; 32]);
            let others = (0..50_000).map(|_| other.sample(&mut numbers)).collect();
            let distance = two_samples(gammas(shape, 50_000), others);
            assert!(distance < KS_LEVEL, "{shape}: {distance}");
        }
    }

    #[test]
    fn gamma_of_a_huge_shape_is_normal() {
        for shape in [1e6_f64, 1e9, 1e12, 1e15, 9e18, 9e24] {
            let sample = gammas(shape, 20_000).iter().map(|x| (x - shape) / shape.sqrt()).collect();
            let distance = kolmogorov_smirnov(sample, normal);
            assert!(distance < KS_LEVEL, "{shape}: {distance}");
        }
    }

    #[test]
    fn normal_is_normal() {
        let mut numbers = numbers(0);
        let sample = (0..100_000).map(|_| numbers.normal()).collect();
        let distance = kolmogorov_smirnov(sample, normal);
        assert!(distance < KS_LEVEL, "{distance}");
    }

    #[test]
    fn the_series_and_the_logarithm_meet() {
        for y in [-1.0 / 64.0, 1.0 / 64.0_f64] {
            let (series, logarithm) = (rest_of_logarithm(y), rest_of_logarithm(y * 1.000_001));
            assert!((series / logarithm - 1.0).abs() < 1e-5, "{y}: {series} {logarithm}");
        }
        assert!((rest_of_logarithm(1e-6) / -0.25e-24 - 1.0).abs() < 1e-5);
        assert!((rest_of_logarithm(0.5) - (1.5_f64.ln() - 0.5 + 0.125 - 1.0 / 24.0)).abs() < 1e-15);
    }

    #[test]
    fn each_name_has_numbers_of_its_own() {
        let key = Key { seed: SEED, of: Use::Renewal, run: 0 };
        let mut firsts = vec![
            key.numbers(0, 0).bits(),
            key.numbers(1, 0).bits(),
            key.numbers(0, 1).bits(),
            key.numbers(0, 1 << 32).bits(),
            Key { seed: SEED + 1, ..key }.numbers(0, 0).bits(),
            Key { of: Use::Jitter, ..key }.numbers(0, 0).bits(),
            Key { of: Use::ExactPoisson, ..key }.numbers(0, 0).bits(),
            Key { run: 1, ..key }.numbers(0, 0).bits(),
        ];
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 8);
        assert_eq!(key.numbers(0, 0).bits(), key.numbers(0, 0).bits());
    }
}
