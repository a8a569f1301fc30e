//! Formats the text report of `nanopace witness`.

use crate::console::human::{self, count, percent};
use crate::judged::checks::{self, Finding};
use crate::results::evenness::{Burst, Evenness, LEAST_REQUESTS, Lateness};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// The largest relative deviation from the expected rate without a caution.
const MOST_DEVIATION: f64 = 0.02;

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
    let even = || checks::even(gaps);
    let starts = evenness.randomness.map_or_else(even, checks::poisson);
    other_rate(rate / evenness.expected.rate).into_iter().chain([starts]).collect()
}

fn other_rate(share: f64) -> Option<Finding> {
    let text = format!("the rate was {} of the expected rate", percent(share));
    let finding = Finding { check: "rate", is_well: false, text };
    ((share - 1.0).abs() > MOST_DEVIATION).then_some(finding)
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
