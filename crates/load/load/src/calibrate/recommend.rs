//! Derives the highest rate with even gaps for each way to pause, and recommends a way to pause.
//!
//! Gaps are **even** up to the rate at which the 99th percentile of lateness is a quarter of the interval. Up to that
//! rate, hardly any gap between two starts differs from the interval by more than 25 %. Three other limits apply:
//!
//! * Sleeping may use a limited share of a core. At rates that would need a larger share, several starts share a sleep.
//! * Hybrid pausing may spin for a limited share of a core. At rates that would need a larger share, it sleeps.
//! * The interval is never shorter than the cost of a start.
//!
//! The **recommended** way to pause is the cheapest one that keeps gaps even at 10 k/s in one thread. Sleeping costs
//! least, followed by hybrid. Spinning and yielding use a whole core, so they need a machine with at least two cores.
//! If spinning and yielding have different rates, only the way with the higher rate is considered. If no way to pause
//! keeps gaps even, the way with the highest rate is recommended.

use super::sleeping::Sleeping;
use crate::console::human;
use nanopace::Pause;
use serde::Serialize;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) pause: Pause,
    pub(crate) lateness_p99_ns: u64,
    pub(crate) spun_each_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EvenRate {
    pub(crate) pause: Pause,
    pub(crate) hz: f64,
    pub(crate) limit: LimitedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LimitedBy {
    Lateness,
    SleepShare,
    SpinShare,
    StartCost,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recommendation {
    pub(crate) pause: Pause,
    pub(crate) reason: String,
}

/// The maximum p99 lateness at which gaps are even, as a share of the interval.
const MOST_LATENESS: f64 = 0.25;
const REFERENCE_HZ: f64 = 10_000.0;

impl LimitedBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            LimitedBy::Lateness => "lateness",
            LimitedBy::SleepShare => "the share of a core for sleeping",
            LimitedBy::SpinShare => "the share of a core for spinning",
            LimitedBy::StartCost => "the time of a grant and a clock reading",
        }
    }
}

pub(crate) fn even_rate(
    facts: &Facts,
    sleeping: Option<Sleeping>,
    start_ns: Option<f64>,
) -> EvenRate {
    let by_lateness =
        (MOST_LATENESS * 1e9 / human::float(facts.lateness_p99_ns.max(1)), LimitedBy::Lateness);
    let by_start_cost = start_ns.map(|nanos| (1e9 / nanos, LimitedBy::StartCost));
    let others = [by_share(facts, sleeping), by_start_cost].into_iter().flatten();
    let (hz, limit) =
        others.fold(by_lateness, |lowest, other| if other.0 < lowest.0 { other } else { lowest });
    EvenRate { pause: facts.pause, hz, limit }
}

fn by_share(facts: &Facts, sleeping: Option<Sleeping>) -> Option<(f64, LimitedBy)> {
    match facts.pause {
        Pause::Sleep => {
            let spared_hz = 1.0 / Pause::CLUMPED_BELOW.as_secs_f64();
            Some((sleeping.map_or(spared_hz, Sleeping::clumped_above_hz), LimitedBy::SleepShare))
        }
        Pause::Hybrid if facts.spun_each_ns > 0.0 => {
            Some((Pause::DEFAULT_SPIN_SHARE * 1e9 / facts.spun_each_ns, LimitedBy::SpinShare))
        }
        _ => None,
    }
}

pub(crate) fn recommend(rates: &[EvenRate], cores: usize) -> Option<Recommendation> {
    let ways = [Pause::Sleep, Pause::Hybrid, Pause::Spin, Pause::Yield];
    let of = |pause: Pause| rates.iter().find(|rate| rate.pause == pause);
    let candidates: Vec<&EvenRate> = ways
        .into_iter()
        .filter(|&pause| cores > 1 || !takes_a_core(pause))
        .filter_map(of)
        .collect();
    let best = candidates.iter().copied().max_by(|a, b| a.hz.total_cmp(&b.hz))?;
    let is_good = |rate: &EvenRate| rate.hz >= REFERENCE_HZ;
    let spares_cores = |rate: &EvenRate| !takes_a_core(rate.pause);
    let sparing = candidates.iter().copied().find(|rate| spares_cores(rate) && is_good(rate));
    let cheapest = sparing.or(Some(best).filter(|rate| is_good(rate)));
    let reason = match cheapest {
        Some(rate) => reason(rate, best, of(Pause::Sleep)),
        None => format!(
            "no suitable way to pause keeps gaps even at {} here, and this one keeps them even up to {}; \
             other programs or a hypervisor may be taking CPU time",
            human::short_hz(REFERENCE_HZ),
            human::short_hz(best.hz)
        ),
    };
    Some(Recommendation { pause: cheapest.unwrap_or(best).pause, reason })
}

fn takes_a_core(pause: Pause) -> bool {
    matches!(pause, Pause::Spin | Pause::Yield)
}

fn reason(chosen: &EvenRate, best: &EvenRate, sleep: Option<&EvenRate>) -> String {
    let up_to = human::short_hz(chosen.hz);
    let reason = match sleep {
        Some(sleep) if chosen.pause != Pause::Sleep => {
            let sleep = human::short_hz(sleep.hz);
            format!(
                "sleeping keeps gaps even only up to {sleep} per thread, {} up to {up_to}",
                chosen.pause
            )
        }
        _ => format!("it is the cheapest, and keeps gaps even up to {up_to} per thread"),
    };
    if takes_a_core(chosen.pause) {
        reason + ", on a core of its own"
    } else if best.hz > chosen.hz {
        format!("{reason}; {} goes up to {}", best.pause, human::short_hz(best.hz))
    } else {
        reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LimitedBy::{Lateness, SleepShare, SpinShare, StartCost};
    use std::time::Duration;

    #[test]
    fn the_rates() {
        // A lateness of 25 us is a quarter of an interval of 100 us, so the highest rate is 10 k/s.
        for (pause, lateness_p99_ns, spun_each_ns, hz, limit) in [
            (Pause::Sleep, 25_000, 0.0, 10_000.0, Lateness),
            // Starts that are less than 30 us apart share sleeps.
            (Pause::Sleep, 5_000, 0.0, 1e9 / 30e3, SleepShare),
            // A quarter of a core allows 50 000 spins of 5 us per second.
            (Pause::Hybrid, 250, 5_000.0, 50_000.0, SpinShare),
            (Pause::Hybrid, 25_000, 5_000.0, 10_000.0, Lateness),
            (Pause::Hybrid, 25_000, 0.0, 10_000.0, Lateness),
            (Pause::Yield, 1_000, 9_000.0, 250_000.0, Lateness),
            (Pause::Spin, 50, 0.0, 5_000_000.0, Lateness),
        ] {
            let rate = even_rate(&Facts { pause, lateness_p99_ns, spun_each_ns }, None, None);
            assert!((rate.hz - hz).abs() < 1e-6 * hz, "{rate:?}");
            assert_eq!((rate.pause, rate.limit), (pause, limit));
        }
    }

    /// A lateness of 2.5 us is a quarter of 10 us. If a sleep costs 2 us, a tenth of a core allows one sleep every 20
    /// us.
    #[test]
    fn cheap_sleeps_are_clumped_later() {
        let facts = Facts { pause: Pause::Sleep, lateness_p99_ns: 2_500, spun_each_ns: 0.0 };
        for (cost_ns, hz, limit) in [
            (26_000, 33_333.3, SleepShare),
            (2_000, 50_000.0, SleepShare),
            (500, 100_000.0, Lateness),
        ] {
            let rate =
                even_rate(&facts, Some(Sleeping { cost: Duration::from_nanos(cost_ns) }), None);
            assert!((rate.hz - hz).abs() < 0.1, "{rate:?}");
            assert_eq!(rate.limit, limit);
        }
    }

    /// If a start takes 40 ns, a second has room for 25 M starts.
    #[test]
    fn the_cost_of_a_start_limits_the_rate() {
        let facts = Facts { pause: Pause::Spin, lateness_p99_ns: 0, spun_each_ns: 0.0 };
        for (start_ns, hz, limit) in
            [(40.0, 25e6, StartCost), (5.0, 200e6, StartCost), (4.0, 250e6, Lateness)]
        {
            assert_eq!(
                even_rate(&facts, None, Some(start_ns)),
                EvenRate { pause: Pause::Spin, hz, limit }
            );
        }
        let sleeping = Facts { pause: Pause::Sleep, ..facts };
        for (start_ns, limit) in [(40.0, SleepShare), (40_000.0, StartCost)] {
            assert_eq!(even_rate(&sleeping, None, Some(start_ns)).limit, limit);
        }
    }

    #[test]
    fn the_recommendations() {
        // The columns are the rates of sleep, hybrid, yield and spin, the number of cores, the recommended way to
        // pause, and a part of the reason.
        for (rates, cores, pause, told) in [
            ([33e3, 50e3, 1e6, 5e6], 2, Pause::Sleep, "cheapest"),
            ([33e3, 50e3, 1e6, 5e6], 2, Pause::Sleep, "spin goes up to 5.00M/s"),
            ([10e3, 5e3, 5e3, 5e3], 2, Pause::Sleep, "even up to 10.0k/s per thread"),
            (
                [4e3, 50e3, 1e6, 5e6],
                2,
                Pause::Hybrid,
                "only up to 4.00k/s per thread, hybrid up to 50.0k/s",
            ),
            ([4e3, 4e3, 1e6, 5e6], 2, Pause::Spin, "core of its own"),
            ([4e3, 4e3, 1e6, 5e3], 2, Pause::Yield, "core of its own"),
            ([4e3, 4e3, 5e6, 1e6], 2, Pause::Yield, "core of its own"),
            // On a machine with one core, a way to pause that uses a whole core is never recommended.
            (
                [4e3, 5e3, 1e6, 5e6],
                1,
                Pause::Hybrid,
                "no suitable way to pause keeps gaps even at 10.0k/s here",
            ),
            ([60.0, 50.0, 40.0, 30.0], 64, Pause::Sleep, "keeps them even up to 60.0/s"),
        ] {
            let ways = [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin];
            let rates: Vec<EvenRate> = ways
                .into_iter()
                .zip(rates)
                .map(|(pause, hz)| EvenRate { pause, hz, limit: Lateness })
                .collect();
            let recommendation = recommend(&rates, cores).unwrap();
            assert_eq!(recommendation.pause, pause, "{rates:?}");
            assert!(recommendation.reason.contains(told), "{recommendation:?}");
        }
        assert_eq!(recommend(&[], 2), None);
    }
}
