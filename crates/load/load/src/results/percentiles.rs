//! Computes percentiles of distributions of times.

use crate::console::human::{self, float};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

pub(crate) const GROWS: &str = "a histogram without a given range grows as needed";

pub(crate) fn at(times: &Histogram<u64>, quantile: f64) -> Duration {
    Duration::from_nanos(times.value_at_quantile(quantile))
}

/// Converts a percentage to a quantile. The conversion does not divide by 100, because a division would round a second
/// time and could select the next rank.
pub(crate) fn quantile(percent: f64) -> f64 {
    format!("{percent}e-2").parse().unwrap_or(1.0)
}

/// A set of times, of which some may be known only as lower bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample<'run> {
    /// All times in nanoseconds, including the lower bounds.
    pub(crate) times: &'run Histogram<u64>,
    pub(crate) bounds: Option<&'run Histogram<u64>>,
}

impl<'run> Sample<'run> {
    pub(crate) fn exact(times: &'run Histogram<u64>) -> Sample<'run> {
        Sample { times, bounds: None }
    }

    pub(crate) fn bounded(
        times: &'run Histogram<u64>,
        bounds: &'run Histogram<u64>,
    ) -> Sample<'run> {
        Sample { times, bounds: Some(bounds).filter(|bounds| !bounds.is_empty()) }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.times.is_empty()
    }

    pub(crate) fn at_least(self) -> u64 {
        self.bounds.map_or(0, Histogram::len)
    }

    /// Returns whether the time at this quantile would be different if the lower bounds were longer.
    pub(crate) fn is_at_least(self, quantile: f64) -> bool {
        let Some(bounds) = self.bounds else { return false };
        let time = self.times.value_at_quantile(quantile);
        let measured = self.times.count_between(0, time) - bounds.count_between(0, time);
        float(measured) < (quantile * float(self.times.len())).ceil().max(1.0)
    }

    /// Returns the time at the quantile if all lower bounds count as longer than every measured time. Returns `None` if
    /// this time is a lower bound.
    pub(crate) fn at_most(self, quantile: f64) -> Option<u64> {
        if self.bounds.is_none() {
            return Some(self.times.value_at_quantile(quantile));
        }
        let rank = (quantile * float(self.times.len())).ceil().max(1.0);
        let measured = self.measured();
        // The quantile that is used belongs to the middle of the rank, because the end of the rank might be rounded to
        // the next rank. The shortest time needs the quantile 0, because its bucket may contain several ranks.
        let part = if quantile > 0.0 { (rank - 0.5) / float(measured.len()) } else { 0.0 };
        (rank <= float(measured.len())).then(|| measured.value_at_quantile(part))
    }

    pub(crate) fn measured(self) -> Histogram<u64> {
        let mut measured = self.times.clone();
        if let Some(bounds) = self.bounds {
            measured.subtract(bounds).expect("lower bounds are among the times");
        }
        measured
    }

    /// Formats the time at this quantile. If the time is only a lower bound, `sign` precedes it.
    pub(crate) fn shown(self, quantile: f64, sign: &str) -> Option<String> {
        let sign = if self.is_at_least(quantile) { sign } else { "" };
        (!self.is_empty()).then(|| sign.to_owned() + &human::time(at(self.times, quantile)))
    }

    /// Formats the mean. If some of the times are lower bounds, `sign` precedes it.
    pub(crate) fn shown_mean(self, sign: &str) -> Option<String> {
        let sign = if self.bounds.is_some() { sign } else { "" };
        let mean = Duration::from_secs_f64(self.times.mean() * 1e-9);
        (!self.is_empty()).then(|| sign.to_owned() + &human::time(mean))
    }
}

pub(crate) fn record(histogram: &mut Histogram<u64>, time: Duration, count: u64) {
    // A `u64` can represent 584 years in nanoseconds. Longer times are recorded as 584 years.
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.record_n(nanos, count).expect(GROWS);
}

/// The percentiles of a set of times, in nanoseconds. If the count is 0, all other values are null.
#[derive(Debug, Serialize)]
pub(crate) struct Percentiles {
    count: u64,
    mean: Option<f64>,
    p50: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    p99_99: Option<u64>,
    max: Option<u64>,
}

impl Percentiles {
    pub(crate) fn new(times: &Histogram<u64>) -> Percentiles {
        let at = |quantile| (!times.is_empty()).then(|| times.value_at_quantile(quantile));
        Percentiles {
            count: times.len(),
            mean: (!times.is_empty()).then(|| times.mean()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: at(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(times: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        times.into_iter().for_each(|time| histogram.record(time).unwrap());
        histogram
    }

    proptest! {
        #[test]
        fn a_bound_is_what_grows_with_the_bounds(
            measured in prop::collection::vec(0_u64..5_000_000, 0..60),
            bounds in prop::collection::vec(0_u64..5_000_000, 0..60),
            per_mille in 0_u32..=1_000,
        ) {
            let quantile = f64::from(per_mille) / 1_000.0;
            let only = histogram(bounds.iter().copied());
            let all = histogram(measured.iter().chain(&bounds).copied());
            let longer = histogram(measured.into_iter().chain(bounds.iter().map(|_| 1 << 40)));
            let grows = longer.value_at_quantile(quantile) > all.value_at_quantile(quantile);
            prop_assert_eq!(Sample::bounded(&all, &only).is_at_least(quantile), grows);
            prop_assert!(!Sample::exact(&all).is_at_least(quantile));
            let most = longer.value_at_quantile(quantile);
            let most = if most < 1 << 39 { Some(most) } else { None };
            prop_assert_eq!(Sample::bounded(&all, &only).at_most(quantile), most);
        }
    }

    #[test]
    fn a_bound_has_its_sign() {
        let (all, bounds) = (histogram([1_000; 99].into_iter().chain([7_000])), histogram([7_000]));
        let sample = Sample::bounded(&all, &bounds);
        let shown = [0.5, 0.99, 1.0].map(|quantile| sample.shown(quantile, ">="));
        assert_eq!(shown.map(Option::unwrap), ["1.00us", "1.00us", ">=7.00us"]);
        assert_eq!(sample.shown_mean(">=").unwrap(), ">=1.06us");
        let none = histogram([]);
        assert_eq!(Sample::bounded(&none, &none).shown(0.5, ">="), None);
    }
}
