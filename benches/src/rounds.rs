//! Rounds in which ours and the baseline take turns.

use crate::float;
use std::hint::black_box;
use std::time::Instant;

/// Nanoseconds per call. What the call returns goes through a [`black_box`], in every loop that is
/// compared: whether it does decides if the compiler unrolls, and that is worth a third of an
/// atomic addition.
#[inline(never)]
pub fn per_call<T>(calls: u64, mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_secs_f64() * 1e9 / float(calls)
}

/// One value for each round.
#[derive(Clone, Debug, Default)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The value that half of the rounds stay below.
    #[must_use]
    pub fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    /// The middle half's width as a part of the median: how noisy the machine was.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (quantile(&self.0, 0.75) - quantile(&self.0, 0.25)) / self.median()
    }

    /// Ours to the baseline's, round by round; its median forgives a machine that slows down for
    /// both.
    #[must_use]
    pub fn ratio_to(&self, baseline: &Samples) -> f64 {
        let ratios: Vec<f64> =
            self.0.iter().zip(&baseline.0).map(|(ours, bare)| ours / bare).collect();
        quantile(&ratios, 0.5)
    }
}

/// The value below which the given part of the samples lies.
///
/// # Panics
/// Without samples.
#[must_use]
pub fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let index = (part * float(sorted.len() as u64 - 1)).round() as usize;
    sorted[index]
}

/// Calls each in turn, `rounds` times (A B C A B C), after one round that does not count.
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
