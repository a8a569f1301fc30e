//! Formats the text report of `nanopace witness`.

use crate::console::human::{self, count, percent};
use crate::judged::checks::{self, Finding};
use crate::results::evenness::{Burst, Evenness, LEAST_REQUESTS, Lateness};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// The largest relative deviation from the expected rate without a caution.
const MOST_DEVIATION: f64 = 0.02;

/// The relative deviation of the rate of Poisson arrivals that chance exceeds in 1 % of measurements, times the square
/// root of the number of requests.
const CHANCE: f64 = 2.58;

#[derive(Debug)]
pub(crate) struct WitnessReport<'run> {
    pub(crate) evenness: &'run Evenness,
    pub(crate) is_by_kernel: bool,
    /// The number of requests that were read together with an earlier request, and have the same time.
    pub(crate) shared: u64,
}

impl Display for WitnessReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Evenness { expected, requests, seconds, gaps, bursts, .. } = self.evenness;
        let (Some(gaps), Some(rate_hz)) = (gaps, self.evenness.rate) else {
            writeln!(f, "{}", self.absence())?;
            return self.shared(f);
        };
        let (requests, time) = (count(requests, "request"), time(seconds * 1e9));
        let [rate, expected_rate] = [rate_hz, expected.rate].map(human::hz);
        writeln!(f, "requests  {requests} in {time}, {rate} (expected {expected_rate})")?;
        let near = percent(gaps.within_25_percent);
        let variation = gaps.coefficient_of_variation;
        writeln!(
            f,
            "gaps      {near} within 25 % of nominal, coefficient of variation {variation:.3}"
        )?;
        if let Some(distance) = self.evenness.distance {
            let from = if expected.is_poisson { "Poisson" } else { "even" };
            writeln!(f, "distance  {distance:.3} from {from} gaps (Kolmogorov-Smirnov)")?;
        }
        if let Some(Lateness { p50, p99, max }) = self.evenness.lateness_ns {
            let [p50, p99, max] = [p50, p99, max].map(self::time);
            writeln!(f, "lateness  p50 {p50}, p99 {p99}, max {max}")?;
        }
        for (kind, burst) in ["bursts", ""].into_iter().zip(bursts) {
            burst_line(f, kind, burst)?;
        }
        for Finding { is_well, text, .. } in checks(self.evenness) {
            let kind = if is_well { "check" } else { "caution" };
            writeln!(f, "{kind:<9} {text}")?;
        }
        self.shared(f)?;
        let is_by_kernel = "by the kernel, when requests arrived";
        let is_by_program = "by this program, when it read requests: its own delays are included";
        writeln!(f, "stamps    {}", if self.is_by_kernel { is_by_kernel } else { is_by_program })
    }
}

fn time(ns: f64) -> String {
    human::time(Duration::from_secs_f64(ns * 1e-9))
}

/// Checks whether the load was as expected. Returns nothing if there are too few requests.
pub(crate) fn checks(evenness: &Evenness) -> Vec<Finding> {
    let Some((gaps, rate)) = evenness.gaps.zip(evenness.rate) else { return Vec::new() };
    let is_poisson = evenness.expected.is_poisson;
    let even = (!is_poisson).then(|| checks::even(gaps));
    let starts = evenness.randomness.map(checks::poisson).or(even);
    let chance = if is_poisson { CHANCE / human::float(evenness.requests).sqrt() } else { 0.0 };
    let rate = other_rate(rate / evenness.expected.rate, MOST_DEVIATION + chance);
    rate.into_iter().chain(starts).collect()
}

fn other_rate(share: f64, most_deviation: f64) -> Option<Finding> {
    let text = format!("the rate was {} of the expected rate", percent(share));
    let finding = Finding { check: "rate", is_well: false, text };
    ((share - 1.0).abs() > most_deviation).then_some(finding)
}

impl WitnessReport<'_> {
    pub(crate) fn absence(&self) -> String {
        match self.evenness.requests {
            0 => "no request arrived after the warm-up".to_owned(),
            1..LEAST_REQUESTS => {
                format!("too few requests after the warm-up: a measurement needs {LEAST_REQUESTS}")
            }
            _ => "all requests have the same arrival time".to_owned(),
        }
    }

    fn shared(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.shared == 0 {
            return Ok(());
        }
        let shared = count(self.shared, "request");
        writeln!(
            f,
            "caution   {shared} read together with an earlier request: all have the time of the last byte of that read"
        )
    }
}

fn burst_line(f: &mut Formatter<'_>, kind: &str, burst: &Burst) -> fmt::Result {
    let (ms, largest) = (burst.window_ms, count(burst.largest, "request"));
    let [expected, limit] = [burst.expected, burst.limit()].map(human::four_digits);
    let crowded = percent(burst.share_crowded);
    writeln!(
        f,
        "{kind:<9} {ms} ms: at most {largest} (expected {expected}); {crowded} of requests are in windows with more than {limit} requests"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::evenness::ExpectedLoad;
    use nanopace::{Arrivals, Rate, Shape, Shard};

    /// Returns the checks of Poisson arrivals whose rate is the given share of the expected rate: the name of each, and
    /// whether it is well.
    fn poisson(requests: usize, achieved: f64, seed: u64) -> Vec<(&'static str, bool)> {
        let shape = Shape::constant("1k/s".parse::<Rate>().unwrap());
        let starts = Arrivals::poisson(seed).starts(shape, Shard::new(0, 1).unwrap());
        let starts = starts.map(|start| u64::try_from(start.as_nanos()).unwrap());
        let starts: Vec<u64> = starts.take(requests).collect();
        let expected = ExpectedLoad { rate: 1e3 / achieved, is_poisson: true };
        let found = checks(&Evenness::of(&starts, expected));
        found.into_iter().map(|found| (found.check, found.is_well)).collect()
    }

    #[test]
    fn a_few_poisson_arrivals_are_not_compared_with_even_ones() {
        assert_eq!(poisson(60, 1.0, 1), []);
        assert_eq!(poisson(1_000, 1.0, 1), [("starts", true)]);
    }

    #[test]
    fn the_rate_of_poisson_arrivals_deviates_by_chance() {
        let warned = |achieved| {
            let has_rate = |seed: &u64| poisson(1_000, achieved, *seed).contains(&("rate", false));
            (0..100).filter(has_rate).count()
        };
        assert_eq!((warned(1.0), warned(0.8)), (0, 100));
    }
}
