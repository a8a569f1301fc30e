//! Measures how closely the arrival times of requests match an even or a Poisson load.

use super::gaps::{Gaps, Quality};
use super::randomness::{Intervals, Randomness};
use crate::console::human::float;
use serde::Serialize;

/// The shortest gap that counts as even, in nominal gaps.
const SHORTEST: f64 = 0.75;
pub(crate) const LEAST_REQUESTS: u64 = 10;
/// The longest gap that counts as even, in nominal gaps.
const LONGEST: f64 = 1.25;

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ExpectedLoad {
    /// The expected rate in requests per second.
    pub(crate) rate: f64,
    pub(crate) is_poisson: bool,
}

/// The evenness of a measured load. It is also written as a JSON object, so the names of the fields must not change.
#[derive(Debug, Serialize)]
pub(crate) struct Evenness {
    pub(crate) expected: ExpectedLoad,
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    pub(crate) rate: Option<f64>,
    /// The quality of the gaps. `None` if there are fewer than ten requests, or if all of them arrived at the same
    /// time.
    pub(crate) gaps: Option<Quality>,
    /// The distance between the distribution of the gaps and the expected one (Kolmogorov-Smirnov), from 0 to 1. If
    /// even arrivals are expected, gaps within 25 % of nominal count as nominal. `None` if there are too few gaps.
    pub(crate) distance: Option<f64>,
    #[serde(skip)]
    pub(crate) randomness: Option<Randomness>,
    /// The lateness of requests. `None` if there are no requests, or if Poisson arrivals are expected, because their
    /// exact times are unknown.
    pub(crate) lateness_ns: Option<Lateness>,
    pub(crate) bursts: [Burst; 2],
}

/// Percentiles of the lateness of requests, in nanoseconds. Lateness is measured from an even schedule with the
/// expected rate: the latest of these schedules for which no request is early.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Lateness {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// The numbers of requests in windows of equal length, which begin at any time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Burst {
    pub(crate) window_ms: u64,
    /// The mean number of requests in a window at the expected rate.
    pub(crate) expected: f64,
    pub(crate) largest: u64,
    /// The share of all requests that are in windows with more than [`Burst::limit`] requests.
    pub(crate) share_crowded: f64,
}

impl Evenness {
    /// Measures requests from their arrival times, which are in ascending order, in nanoseconds since any fixed time.
    pub(crate) fn of(arrivals: &[u64], expected: ExpectedLoad) -> Evenness {
        let first = arrivals.first().copied().unwrap_or_default();
        let times: Vec<f64> = arrivals.iter().map(|ns| float(ns - first) * 1e-9).collect();
        let slots: Vec<f64> = times.iter().map(|time| time * expected.rate).collect();
        let randomness = randomness(&slots).filter(|_| expected.is_poisson);
        let seconds = times.last().copied().unwrap_or_default();
        let even = || distance_from_even(&slots).filter(|_| !expected.is_poisson);
        Evenness {
            expected,
            requests: arrivals.len() as u64,
            seconds,
            rate: (seconds > 0.0).then(|| float(arrivals.len() as u64 - 1) / seconds),
            gaps: quality(&slots).filter(|_| arrivals.len() as u64 >= LEAST_REQUESTS),
            distance: randomness.map(|random| random.distance).or_else(even),
            randomness,
            lateness_ns: lateness(&slots, expected).filter(|_| !expected.is_poisson),
            bursts: [1, 10].map(|ms| Burst::of(arrivals, ms, expected.rate)),
        }
    }
}

fn quality(slots: &[f64]) -> Option<Quality> {
    let mut gaps = Gaps::default();
    for &slot in slots {
        gaps.start(slot);
    }
    gaps.quality()
}

fn randomness(slots: &[f64]) -> Option<Randomness> {
    let mut intervals = Intervals::default();
    for &slot in slots {
        intervals.start(slot);
    }
    intervals.randomness()
}

fn distance_from_even(slots: &[f64]) -> Option<f64> {
    let gaps: Vec<f64> = slots.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let share = |is_so: fn(&f64) -> bool| {
        float(gaps.iter().filter(|&gap| is_so(gap)).count() as u64) / float(gaps.len() as u64)
    };
    let distance = share(|&gap| gap < SHORTEST).max(share(|&gap| gap > LONGEST));
    (!gaps.is_empty()).then_some(distance)
}

/// Returns the lateness of each request, as [`Lateness`] defines it. The lateness and the arrival times in `slots` are
/// in nominal gaps.
pub(crate) fn slots_late(slots: &[f64]) -> Vec<f64> {
    let late = slots.iter().zip(0_u64..).map(|(slot, number)| slot - float(number));
    let late: Vec<f64> = late.collect();
    let least = late.iter().copied().fold(f64::INFINITY, f64::min);
    late.into_iter().map(|slots| slots - least).collect()
}

fn lateness(slots: &[f64], expected: ExpectedLoad) -> Option<Lateness> {
    let mut late = slots_late(slots);
    late.sort_by(f64::total_cmp);
    let at = |part: usize| late[(late.len() * part).div_ceil(100) - 1] * 1e9 / expected.rate;
    (!late.is_empty()).then(|| Lateness { p50: at(50), p99: at(99), max: at(100) })
}

impl Burst {
    /// Returns the number of requests above which a window is crowded: twice the expected number, and at least 2.
    pub(crate) fn limit(&self) -> f64 {
        2.0 * self.expected.max(1.0)
    }

    /// Counts the requests in each window that begins with a request. Other windows do not contain more requests.
    fn of(arrivals: &[u64], window_ms: u64, rate: f64) -> Burst {
        let expected = rate * float(window_ms) * 1e-3;
        let mut burst = Burst { window_ms, expected, largest: 0, share_crowded: 0.0 };
        let (mut end, mut crowded_end, mut crowded) = (0, 0, 0);
        for (begin, first) in arrivals.iter().enumerate() {
            let is_inside = |time: &&u64| *time - first < window_ms * 1_000_000;
            end += arrivals[end..].iter().take_while(is_inside).count();
            let count = (end - begin) as u64;
            burst.largest = burst.largest.max(count);
            if float(count) > burst.limit() {
                crowded += end - crowded_end.max(begin);
                crowded_end = end;
            }
        }
        burst.share_crowded = float(crowded as u64) / float(arrivals.len().max(1) as u64);
        burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{Arrivals, Rate, Shape, Shard};

    const EVEN: ExpectedLoad = ExpectedLoad { rate: 10_000.0, is_poisson: false };
    const POISSON: ExpectedLoad = ExpectedLoad { rate: 10_000.0, is_poisson: true };
    const REQUESTS: usize = 50_000;

    fn starts(arrivals: &Arrivals) -> Vec<u64> {
        let shape = Shape::constant("10k/s".parse::<Rate>().unwrap());
        let starts = arrivals.starts(shape, Shard::new(0, 1).unwrap()).take(REQUESTS);
        let since_1970 = |ns: u128| 1_795_000_000_000_000_000 + u64::try_from(ns).unwrap();
        starts.map(|start| since_1970(start.as_nanos())).collect()
    }

    #[test]
    fn an_even_load_is_even() {
        let found = Evenness::of(&starts(&Arrivals::even()), EVEN);
        let gaps = found.gaps.unwrap();
        assert!((found.rate.unwrap() - 10_000.0).abs() < 1e-6);
        assert!(gaps.coefficient_of_variation < 1e-6 && found.lateness_ns.unwrap().max < 1.0);
        assert_eq!((found.requests, gaps.within_25_percent), (50_000, 1.0));
        assert_eq!(found.distance, Some(0.0));
        let bursts = found.bursts.map(|burst| (burst.largest, burst.share_crowded));
        assert_eq!(bursts, [(10, 0.0), (100, 0.0)]);
    }

    #[test]
    fn poisson_arrivals_are_poisson_for_each_seed_and_not_even() {
        for seed in 0..10 {
            let arrivals = starts(&Arrivals::poisson(seed));
            let found = Evenness::of(&arrivals, POISSON);
            assert!(found.distance.unwrap() < 0.02 && found.lateness_ns.is_none(), "{found:?}");
            assert!((found.gaps.unwrap().coefficient_of_variation - 1.0).abs() < 0.03, "{found:?}");
            // A gap is shorter than 0.75 mean gaps with a probability of 1 - exp(-0.75).
            let distance = Evenness::of(&arrivals, EVEN).distance.unwrap();
            assert!((distance - 0.5276).abs() < 0.02, "{distance}");
        }
        assert!(Evenness::of(&starts(&Arrivals::even()), POISSON).distance.unwrap() > 0.3);
    }

    fn clumps(ms: u64) -> Evenness {
        let starts = starts(&Arrivals::even()).into_iter();
        let delayed: Vec<u64> = starts.map(|ns| ns.next_multiple_of(ms * 1_000_000)).collect();
        Evenness::of(&delayed, EVEN)
    }

    #[test]
    fn clumps_are_late_and_crowded() {
        let found = clumps(1);
        let late = found.lateness_ns.unwrap();
        // The requests of a clump are late by 0 to 0.9 ms in steps of 0.1 ms.
        for (found, expected) in [(late.p50, 4e5), (late.p99, 9e5), (late.max, 9e5)] {
            assert!((found - expected).abs() < 1.0, "{late:?}");
        }
        assert!((found.distance.unwrap() - 0.9).abs() < 1e-3, "{found:?}");
        assert_eq!((found.gaps.unwrap().within_25_percent, found.bursts[0].largest), (0.0, 10));
        let [short, long] = clumps(4).bursts;
        assert!(short.largest == 40 && short.share_crowded > 0.99, "{short:?}");
        assert!((long.limit() - 200.0).abs() < 1e-9 && long.share_crowded < 1e-9, "{long:?}");
    }

    #[test]
    fn a_window_begins_at_any_time() {
        let arrivals = [[0; 1].as_slice(), &[950_000; 15], &[1_050_000; 15]].concat();
        let [short, long] = Evenness::of(&arrivals, EVEN).bursts;
        assert_eq!((short.largest, long.largest, long.share_crowded), (30, 31, 0.0));
        assert!((short.share_crowded - 30.0 / 31.0).abs() < 1e-9, "{short:?}");
    }

    /// A stall delays only the requests that are due during the stall. If the rate is lower than expected, each request
    /// is later than the previous one.
    #[test]
    fn lateness_is_measured_from_the_earliest_requests() {
        let mut stalled = starts(&Arrivals::even());
        let end = stalled[1_000] + 5_000_000;
        stalled.iter_mut().skip(1_000).for_each(|ns| *ns = (*ns).max(end));
        let late = Evenness::of(&stalled, EVEN).lateness_ns.unwrap();
        assert!(late.p50 < 1.0 && (late.max - 5e6).abs() < 1.0, "{late:?}");
        let slow: Vec<u64> = (0..=1_000).map(|number| number * 110_000).collect();
        let late = Evenness::of(&slow, EVEN).lateness_ns.unwrap();
        assert!((late.max - 1e7).abs() < 1.0, "{late:?}");
    }

    #[test]
    fn a_few_requests_have_no_figures() {
        for arrivals in [&[][..], &[7], &[7, 7]] {
            for expected in [EVEN, POISSON] {
                let found = Evenness::of(arrivals, expected);
                assert!(found.gaps.is_none() && found.rate.is_none(), "{found:?}");
            }
        }
    }
}
