//! Measures candidates and their baseline in alternating rounds.

use crate::float;
use std::hint::black_box;
use std::time::Instant;

/// Returns the duration of a call in nanoseconds. The result of each call goes through a [`black_box`] in every loop
/// that is compared. The black box decides whether the compiler unrolls the loop, which changes the result by a third
/// of an atomic addition.
#[inline(never)]
pub fn per_call<T>(calls: u64, mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_secs_f64() * 1e9 / float(calls)
}

/// The values of a measurement, one per round.
#[derive(Clone, Debug, Default)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// Returns the median of the rounds.
    #[must_use]
    pub fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    /// Returns the width of the middle half as a share of the median, a measure of the machine's noise.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (quantile(&self.0, 0.75) - quantile(&self.0, 0.25)) / self.median()
    }

    /// Returns the median of the ratios to the baseline, round by round. A slowdown of the machine that affects both
    /// cancels out.
    #[must_use]
    pub fn ratio_to(&self, baseline: &Samples) -> f64 {
        let ratios: Vec<f64> =
            self.0.iter().zip(&baseline.0).map(|(ours, bare)| ours / bare).collect();
        quantile(&ratios, 0.5)
    }
}

/// Returns the quantile of the samples at `part`, from 0 to 1.
///
/// # Panics
/// Panics if there are no samples.
#[must_use]
pub fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let index = (part * float(sorted.len() as u64 - 1)).round() as usize;
    sorted[index]
}

/// Calls the candidates in turn (A B C A B C) for `rounds` rounds, after one round that is not recorded.
pub fn alternate(rounds: usize, candidates: &mut [&mut dyn FnMut() -> f64]) -> Vec<Samples> {
    let mut samples = vec![Samples::default(); candidates.len()];
    for round in 0..=rounds {
        for (candidate, samples) in candidates.iter_mut().zip(&mut samples) {
            let value = candidate();
            if round > 0 {
                samples.0.push(value);
            }
        }
    }
    samples
}
