//! Measures how close the starts are to Poisson arrivals, in which gaps are exponential and independent of each other.

use crate::console::human::float;

/// The number of classes of gaps. An exponential gap falls into each class with the same probability.
const PARTS: usize = 100;

const LEAST: f64 = 100.0;

/// A variance up to this value counts as zero, because rounding can cause it.
const ROUNDING: f64 = 1e-12;

#[derive(Debug)]
pub(crate) struct Intervals {
    last: Option<f64>,
    /// The last gap, as its quantile in the exponential distribution.
    before: Option<f64>,
    parts: [u64; PARTS],
    neighbours: Neighbours,
}

/// The sums over pairs of values from which their correlation is computed.
#[derive(Debug, Default)]
struct Neighbours {
    pairs: f64,
    first: f64,
    second: f64,
    first_squared: f64,
    second_squared: f64,
    products: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Randomness {
    pub(crate) gaps: f64,
    /// The Kolmogorov-Smirnov distance from the exponential distribution, from 0 to 1, computed at a hundred points.
    pub(crate) distance: f64,
    /// The correlation of the quantiles of neighbouring gaps, or 0 if all gaps are equal.
    pub(crate) alike: f64,
}

impl Default for Intervals {
    fn default() -> Intervals {
        let neighbours = Neighbours::default();
        Intervals { last: None, before: None, parts: [0; PARTS], neighbours }
    }
}

impl Intervals {
    pub(crate) fn cut(&mut self) {
        (self.last, self.before) = (None, None);
    }

    /// Records a start. Starts must be recorded in the order of their times. `asked` is the expected number of slots
    /// before this start.
    pub(crate) fn start(&mut self, asked: f64) {
        if let Some(last) = self.last.replace(asked) {
            self.gap(1.0 - (last - asked).exp());
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    fn gap(&mut self, shorter: f64) {
        self.parts[((shorter * 100.0) as usize).min(PARTS - 1)] += 1;
        if let Some(before) = self.before.replace(shorter) {
            self.neighbours.add(before - 0.5, shorter - 0.5);
        }
    }

    pub(crate) fn randomness(&self) -> Option<Randomness> {
        let gaps = float(self.parts.iter().sum());
        let mut below = 0.0;
        let distances = (1_u32..).zip(self.parts).map(|(part, count)| {
            below += float(count);
            (below / gaps - f64::from(part) / 100.0).abs()
        });
        let distance = distances.fold(0.0, f64::max);
        let alike = self.neighbours.correlation();
        (gaps >= LEAST).then_some(Randomness { gaps, distance, alike })
    }
}

impl Neighbours {
    fn add(&mut self, first: f64, second: f64) {
        self.pairs += 1.0;
        self.first += first;
        self.second += second;
        self.first_squared += first * first;
        self.second_squared += second * second;
        self.products += first * second;
    }

    /// Returns the correlation, or 0 if one of the two values never varies.
    fn correlation(&self) -> f64 {
        let [first, second] = [self.first, self.second].map(|sum| sum / self.pairs);
        let first_variance = self.first_squared / self.pairs - first * first;
        let second_variance = self.second_squared / self.pairs - second * second;
        let variance = first_variance.max(0.0).sqrt() * second_variance.max(0.0).sqrt();
        let covariance = self.products / self.pairs - first * second;
        if variance > ROUNDING { (covariance / variance).clamp(-1.0, 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{Arrivals, Rate, Shape, Shard};

    fn randomness(starts: impl IntoIterator<Item = f64>) -> Randomness {
        let mut intervals = Intervals::default();
        starts.into_iter().for_each(|start| intervals.start(start));
        intervals.randomness().unwrap()
    }

    fn starts(arrivals: &Arrivals) -> Vec<f64> {
        let shape = Shape::constant("1k/s".parse::<Rate>().unwrap());
        let starts = arrivals.starts(shape, Shard::new(0, 1).unwrap()).take(20_000);
        starts.map(|start| start.as_secs_f64() * 1e3).collect()
    }

    #[test]
    fn only_poisson_arrivals_are_like_poisson_arrivals() {
        for seed in 0..20 {
            let poisson = randomness(starts(&Arrivals::poisson(seed)));
            assert!(poisson.distance < 0.02 && poisson.alike.abs() < 0.03, "{poisson:?}");
        }
        assert!(randomness(starts(&Arrivals::even())).distance > 0.3);
        // Each gap occurs twice in a row, so the gaps are exponential but not independent.
        let mut twice = Vec::new();
        for pair in starts(&Arrivals::poisson(1)).windows(2) {
            let last = twice.last().copied().unwrap_or(0.0);
            twice.extend([last + pair[1] - pair[0], last + 2.0 * (pair[1] - pair[0])]);
        }
        let twice = randomness(twice);
        assert!(twice.distance < 0.02 && twice.alike > 0.4, "{twice:?}");
    }

    #[test]
    fn the_correlation_does_not_depend_on_the_rate() {
        for factor in [0.01, 1.0, 20.0] {
            let poisson = starts(&Arrivals::poisson(1)).into_iter();
            let alike = randomness(poisson.map(|start| start * factor)).alike;
            assert!(alike.abs() < 0.03, "{factor}: {alike}");
            // Gaps of 0.5 and 1.5 alternate.
            let halves = (0..200_u32).map(|slot| f64::from(slot) - 0.5 * f64::from(slot % 2));
            let alike = randomness(halves.map(|start| start * factor)).alike;
            assert!((alike + 1.0).abs() < 0.01, "{factor}: {alike}");
        }
        assert!(randomness((0..200_u32).map(f64::from)).alike.abs() < 1e-9);
    }

    #[test]
    fn a_few_gaps_give_no_result() {
        let mut intervals = Intervals::default();
        (0..100_u32).for_each(|start| intervals.start(start.into()));
        assert_eq!(intervals.randomness(), None);
        intervals.cut();
        (0..2_u32).for_each(|start| intervals.start(start.into()));
        assert!(intervals.randomness().is_some_and(|it| it.gaps > 99.0));
    }
}
