//! Measures candidates and their baseline in alternating rounds.

use crate::float;
use std::hint::black_box;
use std::time::Instant;

/// Returns the mean duration of a call in nanoseconds. All compared loops pass the result of each call through a
/// [`black_box`], because the black box decides whether the compiler unrolls the loop. Unrolling changes the result by
/// a third of the duration of an atomic addition.
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

    /// Returns the interquartile range as a share of the median, a measure of the machine's noise.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (quantile(&self.0, 0.75) - quantile(&self.0, 0.25)) / self.median()
    }

    /// Returns the median of the rounds' ratios to the baseline. A slowdown that affects both cancels out.
    #[must_use]
    pub fn ratio_to(&self, baseline: &Samples) -> f64 {
        self.ratios_to(baseline).median()
    }

    /// Returns the approximate 95 % confidence interval of the median of the rounds' ratios to the baseline. The
    /// interval is valid for every distribution, because the number of ratios below the true median is binomial.
    #[must_use]
    pub fn ratio_range(&self, baseline: &Samples) -> [f64; 2] {
        let ratios = self.ratios_to(baseline);
        let aside = 0.98 / float(ratios.0.len() as u64).sqrt();
        [0.5 - aside, 0.5 + aside].map(|part| quantile(&ratios.0, part.clamp(0.0, 1.0)))
    }

    fn ratios_to(&self, baseline: &Samples) -> Samples {
        Samples(self.0.iter().zip(&baseline.0).map(|(ours, bare)| ours / bare).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The ratios are 1 to 100. With a probability of about 95 %, the true median lies between the 41st and the 60th.
    #[test]
    fn the_range_of_a_ratio_is_that_of_the_middle_ratios() {
        let ours = Samples((0..100).map(|index| f64::from(index * 37 % 100 + 1) * 2.0).collect());
        let [low, high] = ours.ratio_range(&Samples(vec![2.0; 100]));
        assert!((40.0..=42.0).contains(&low) && (59.0..=61.0).contains(&high), "{low} {high}");
        assert!((low..=high).contains(&ours.ratio_to(&Samples(vec![2.0; 100]))));
    }
}
