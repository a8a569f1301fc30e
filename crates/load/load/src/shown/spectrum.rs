//! Computes percentile spectra, which contain percentiles with more and more nines, up to the longest time.

use crate::console::human::float;
use hdrhistogram::Histogram;
use serde::Serialize;

/// The digits for which a spectrum has quantiles. For each of them, `1 - step / 10^n` is a quantile with at least `n -
/// 1` and fewer than `n` nines.
const STEPS: [u64; 9] = [10, 9, 8, 7, 6, 5, 4, 3, 2];
/// The maximum number of nines. No run has enough requests for a quantile with more nines.
const NINES: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Point {
    /// The share of the times that are at most `ns`.
    pub(crate) quantile: f64,
    pub(crate) ns: u64,
}

/// Returns the times at the round quantiles for which enough times were recorded, and the longest time.
pub(crate) fn points(times: &Histogram<u64>) -> Vec<Point> {
    let at = |quantile| Point { quantile, ns: times.value_at_quantile(quantile) };
    let known = quantiles(times.len()).map(at);
    known.chain((!times.is_empty()).then(|| at(1.0))).collect()
}

fn quantiles(times: u64) -> impl Iterator<Item = f64> {
    let round = (1..=NINES).flat_map(|nines| STEPS.map(|step| (step, 10_u64.pow(nines))));
    round
        .take_while(move |&(step, of)| u128::from(step) * u128::from(times) > u128::from(of))
        .map(|(step, of)| float(of - step) / float(of))
}

/// Returns the number of nines of a quantile, such as one for 0.9 and two for 0.99.
pub(crate) fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: u64) -> Vec<Point> {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=times).for_each(|time| histogram.record(time).unwrap());
        points(&histogram)
    }

    #[test]
    fn a_spectrum_is_as_fine_as_there_are_times() {
        assert_eq!(of(0), []);
        assert_eq!(of(1), [Point { quantile: 1.0, ns: 1 }]);
        let quantiles = |times| of(times).iter().map(|point| point.quantile).collect::<Vec<_>>();
        assert_eq!(quantiles(3), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0]);
        assert_eq!(quantiles(100).last_chunk(), Some(&[0.97, 0.98, 1.0]));
        let hundred = of(100);
        assert!(hundred.windows(2).all(|pair| pair[0].ns <= pair[1].ns), "{hundred:?}");
        assert_eq!((hundred[0].ns, hundred[9].ns, hundred[18].ns), (1, 90, 100));
    }

    #[test]
    fn quantiles_have_nines() {
        for (quantile, has) in [(0.0, 0.0), (0.9, 1.0), (0.99, 2.0), (0.9999, 4.0)] {
            assert!((nines(quantile) - has).abs() < 1e-9, "{quantile}");
        }
    }
}
