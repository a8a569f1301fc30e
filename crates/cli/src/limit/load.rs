//! Requests that are generated: phases of a constant rate, one after the other.

use crate::limit::request::Request;
use crate::limit::times;
use fastrand::Rng;
use nanopace::Nanos;
use nanopace_limits::{Quota, QuotaError};
use nanopace_load::console::human;
use std::str::FromStr;
use std::time::Duration;

/// The rates of the phases; `None` is a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadPhases(Vec<Option<Quota>>);

impl LoadPhases {
    /// From a tenth of the limit to twice the limit; then a pause, and twice the limit again.
    pub(crate) fn around(limit: Quota) -> Result<LoadPhases, QuotaError> {
        let times = |multiple, part| scaled(limit, multiple, part).map(Some);
        let ramp = [
            times(1, 10),
            times(1, 5),
            times(1, 2),
            times(1, 1),
            times(2, 1),
            Ok(None),
            times(2, 1),
        ];
        ramp.into_iter().collect::<Result<_, _>>().map(LoadPhases)
    }
}

/// A quota times `multiple / part`. One of the two is 1.
fn scaled(quota: Quota, multiple: u64, part: u64) -> Result<Quota, QuotaError> {
    let whole = quota.count().is_multiple_of(part);
    let (count, parts) = if whole { (quota.count() / part, 1) } else { (quota.count(), part) };
    let period_ns = quota.period_ns().saturating_mul(parts);
    Quota::new(count.saturating_mul(multiple), Duration::from_nanos(period_ns))
}

impl FromStr for LoadPhases {
    type Err = String;

    fn from_str(text: &str) -> Result<LoadPhases, String> {
        text.split(',').map(|rate| phase(rate.trim())).collect::<Result<_, _>>().map(LoadPhases)
    }
}

fn phase(rate: &str) -> Result<Option<Quota>, String> {
    if rate == "0" {
        return Ok(None);
    }
    let quota = if rate.contains('/') { rate.to_owned() } else { format!("{rate}/s") };
    let wrong = |error| {
        format!("{error}; instead of parts of a request, write 1/2s for one in two seconds")
    };
    quota.parse().map(Some).map_err(wrong)
}

/// Requests by phases, evenly spaced or at random.
#[derive(Debug)]
pub(crate) struct Load {
    phases: Vec<Option<Quota>>,
    phase_ns: u64,
    start: Nanos,
    /// The source of random times, if they are wanted.
    random: Option<Rng>,
    /// The current phase, the number of its requests so far, and how far into the phase the last
    /// random request was.
    phase: usize,
    nth: u64,
    reached_ns: f64,
}

impl Load {
    /// A load that begins at `start`, in phases of `phase_ns`. With a `seed`, times are random.
    pub(crate) fn new(phases: LoadPhases, phase_ns: u64, start: Nanos, seed: Option<u64>) -> Load {
        let random = seed.map(Rng::with_seed);
        Load { phases: phases.0, phase_ns, start, random, phase: 0, nth: 0, reached_ns: 0.0 }
    }

    /// The names of the phases.
    pub(crate) fn names(&self) -> Vec<String> {
        let name =
            |rate: &Option<Quota>| rate.map_or_else(|| "pause".to_owned(), |rate| rate.to_string());
        self.phases.iter().map(name).collect()
    }

    /// The load in a line.
    pub(crate) fn title(&self) -> String {
        let how = if self.random.is_some() { "at random times" } else { "evenly spaced" };
        format!("generated from {} on, {how}", times::short(self.start - Nanos::ZERO))
    }

    /// When the load begins.
    pub(crate) fn start(&self) -> Nanos {
        self.start
    }

    /// How long all phases are.
    pub(crate) fn length(&self) -> Duration {
        Duration::from_nanos((self.phases.len() as u64).saturating_mul(self.phase_ns))
    }

    /// How far into its phase the next request comes.
    fn next_offset(&mut self, rate: Quota) -> u64 {
        match &mut self.random {
            None => {
                let offset = u128::from(self.nth) * u128::from(rate.period_ns());
                self.nth += 1;
                // Rounded up, so that requests are never closer than the rate says.
                u64::try_from(offset.div_ceil(u128::from(rate.count()))).unwrap_or(u64::MAX)
            }
            Some(random) => {
                let interval = human::float(rate.period_ns()) / human::float(rate.count());
                // The time from one independent event to the next is distributed exponentially.
                self.reached_ns -= (1.0 - random.f64()).ln() * interval;
                whole(self.reached_ns)
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and saturates"
)]
fn whole(nanos: f64) -> u64 {
    nanos as u64
}

impl Iterator for Load {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        loop {
            let rate = *self.phases.get(self.phase)?;
            let begin = (self.phase as u64).saturating_mul(self.phase_ns);
            let offset =
                rate.map(|rate| self.next_offset(rate)).filter(|&offset| offset < self.phase_ns);
            if let Some(offset) = offset {
                let at = self.start + Duration::from_nanos(begin) + Duration::from_nanos(offset);
                return Some(Request { at, key: None });
            }
            (self.phase, self.nth, self.reached_ns) = (self.phase + 1, 0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn load(phases: &str, seed: Option<u64>) -> Load {
        Load::new(phases.parse().unwrap(), 2 * SECOND, Nanos::from_nanos(SECOND / 2), seed)
    }

    #[test]
    fn even_requests_are_spaced_exactly() {
        let times: Vec<_> = load("1,0,3", None).map(|request| request.at.as_nanos()).collect();
        let thirds = [0, 333_333_334, 666_666_667, 1_000_000_000, 1_333_333_334, 1_666_666_667];
        // Phases begin at 0.5 s, 2.5 s and 4.5 s.
        let expected = [500_000_000, 1_500_000_000]
            .into_iter()
            .chain(thirds.map(|third| 4_500_000_000 + third));
        assert_eq!(times, expected.collect::<Vec<_>>());
    }

    #[test]
    fn random_requests_keep_to_their_phase_and_come_again_with_their_seed() {
        let times =
            |seed| load("500,0,1000", Some(seed)).map(|request| request.at).collect::<Vec<_>>();
        assert_eq!(times(7), times(7));
        assert_ne!(times(7), times(8));
        let until =
            |end: u64| times(7).iter().filter(|at| at.as_nanos() < end * SECOND / 10).count();
        // Five standard deviations around 1000 and 2000.
        assert!((842..=1_158).contains(&until(25)), "{}", until(25));
        assert_eq!(until(25), until(45));
        assert!((1_777..=2_223).contains(&(times(7).len() - until(45))));
    }

    #[test]
    fn the_default_goes_around_the_limit() {
        for (limit, names) in [
            ("10/s", "1/s 2/s 5/s 10/s 20/s pause 20/s"),
            ("3/60s", "3/10m 3/5m 3/2m 3/m 6/m pause 6/m"),
        ] {
            let phases = LoadPhases::around(limit.parse().unwrap()).unwrap();
            let load = Load::new(phases, SECOND, Nanos::ZERO, None);
            assert_eq!(load.names().join(" "), names);
        }
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        for text in ["", "1,,2", "fast", "0.5", "-1", "2G"] {
            assert!(text.parse::<LoadPhases>().is_err(), "{text}");
        }
    }
}
