//! Checks the run itself: whether starts followed the requested arrivals, whether response times stayed constant,
//! whether the goal of `--until-confident` was reached, what share of the times the generator caused, and what slowed
//! the machine down. Lancet has similar checks (Kogias, Mallon and Bugnion, USENIX ATC 2019).

mod machine;
mod trend;

pub(crate) use machine::{machine, quota};

use super::criteria::{Goal, Percentile};
use crate::console::human::{self, count, float, percent};
use crate::load::own_times::{OwnTimes, Part};
use crate::results::confidence::Confidence;
use crate::results::gaps::Quality;
use crate::results::percentiles;
use crate::results::randomness::Randomness;
use crate::results::stats::OperationStats;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// Starts count as even if at least this share of the gaps is within 25 % of the nominal gap.
const LEAST_EVEN: f64 = 0.5;

/// The thresholds of [`poisson`]. A generator that sleeps between starts deviates from Poisson arrivals by up to
/// `NEAR`. `CHANCE` and `CHANCE_ALIKE`, divided by the square root of the number of gaps, are the deviations that
/// chance exceeds in 1 % of runs. `CHANCE` comes from the Kolmogorov distribution, and `CHANCE_ALIKE` from the normal
/// distribution.
const NEAR: f64 = 0.05;
const CHANCE: f64 = 1.63;
const CHANCE_ALIKE: f64 = 2.58;

/// The largest share of the response times (for [`reading`], of the service times) that the generator may cause.
const MOST_OWN: f64 = 0.25;

/// A delay of the generator up to this time, in nanoseconds, never causes a caution of [`own`].
const SMALL_OWN: f64 = 1e6;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) is_well: bool,
    pub(crate) text: String,
}

pub(crate) fn even(gaps: Quality) -> Finding {
    let is_well = gaps.within_25_percent >= LEAST_EVEN;
    let near = percent(gaps.within_25_percent);
    let text = if is_well {
        "starts followed the requested even arrivals".to_owned()
    } else {
        format!("starts were not even: only {near} of the gaps are within 25 % of nominal")
    };
    Finding { check: "starts", is_well, text }
}

pub(crate) fn poisson(randomness: Randomness) -> Finding {
    let Randomness { gaps, distance, alike } = randomness;
    let is_near = |off: f64, chance: f64| off <= NEAR + chance / gaps.sqrt();
    let is_well = is_near(distance, CHANCE) && is_near(alike.abs(), CHANCE_ALIKE);
    let is_so = if is_well { "starts are Poisson" } else { "starts are not Poisson" };
    let text = format!(
        "{is_so}: distance {distance:.3} (Kolmogorov-Smirnov), correlation of neighbouring gaps {alike:.3}"
    );
    Finding { check: "starts", is_well, text }
}

pub(crate) fn steady(confidence: &Confidence<'_>) -> Option<Finding> {
    let batched = confidence.response();
    if !trend::is_known(&batched) {
        return None;
    }
    let change = trend::change(&batched);
    let text = match change {
        None => "response times showed no lasting change".to_owned(),
        Some(split) => {
            let [before, after] =
                trend::medians(&batched, split).map(|ns| human::time(Duration::from_nanos(ns)));
            let at = human::time(confidence.batches[split].from);
            format!("response times changed: p50 is {before} before {at}, {after} afterwards")
        }
    };
    Some(Finding { check: "steady", is_well: change.is_none(), text })
}

pub(crate) fn own(stats: &OperationStats, reported: Percentile) -> Option<Finding> {
    let due = float(stats.response.len());
    let queued = stats.queued.as_secs_f64();
    // The response times contain only a lower bound of the lateness of skipped slots.
    let all = (stats.response.mean() * due * 1e-9).max(stats.lateness.total() + queued);
    let own = stats.lateness.generator + queued;
    let share = (all > 0.0).then(|| own / all)?;
    let response = float(stats.response.value_at_quantile(reported.quantile()));
    let delay = own_at_most(stats, reported).min(response);
    let beside = delay / response.max(1.0);
    let text = format!(
        "generator delay: {} of response time; at most {} ({}) of the response {reported}",
        percent(share),
        human::time(Duration::from_secs_f64(delay * 1e-9)),
        percent(beside)
    );
    let is_small = |share: f64, ns: f64| share <= MOST_OWN || ns <= SMALL_OWN;
    let is_well = is_small(share, own * 1e9 / due.max(1.0)) && is_small(beside, delay);
    Some(Finding { check: "own", is_well, text })
}

/// Returns an upper bound of the generator's own part of the response time at the reported percentile, in nanoseconds.
/// The generator's own delay of a start is at most the smaller of two values:
///
/// * the same percentile of the wait times, because the delay of a start is part of its wait time (infinite if this
///   percentile lies among slots that never started);
/// * the mean delay of all slots, divided by the share of slots beyond the percentile (Markov's inequality).
///
/// The mean wait of responses for the CPU is added, because only the mean is known.
fn own_at_most(stats: &OperationStats, reported: Percentile) -> f64 {
    let each = |seconds: f64, of: u64| seconds * 1e9 / float(of.max(1));
    let due = stats.response.len();
    let of_started = reported.quantile() * float(due) / float(stats.wait.len());
    let wait = (of_started <= 1.0).then(|| float(stats.wait.value_at_quantile(of_started)));
    let mean = each(stats.lateness.generator, due);
    let queued = each(stats.queued.as_secs_f64(), stats.completed() + stats.failed());
    wait.unwrap_or(f64::INFINITY).min(mean / reported.beyond()) + queued
}

pub(crate) fn reading(own: &[OwnTimes], service: &Histogram<u64>) -> Option<Finding> {
    let own = own.iter().find(|own| own.part == Part::Reading).filter(|_| !service.is_empty());
    let OwnTimes { times, untimed: unknown, .. } = own?;
    let answers = times.len() + unknown;
    if times.is_empty() {
        let text = format!(
            "the kernel stamped none of {}: the generator's delay in service times is unknown",
            count(answers, "response")
        );
        return Some(Finding { check: "reading", is_well: false, text });
    }
    let at = |quantile| [times, service].map(|of| percentiles::at(of, quantile));
    let is_small = |[own, all]: [Duration; 2]| own <= all.mul_f64(MOST_OWN);
    let told = |[own, all]: [Duration; 2]| format!("{} of {}", human::time(own), human::time(all));
    let (p50, p99) = (at(0.5), at(0.99));
    let [median, tail] = [p50, p99].map(told);
    let rest = match unknown {
        0 => String::new(),
        _ => format!("; unknown for {unknown} of {}", count(answers, "response")),
    };
    let text = format!("generator delay in the service time: p50 {median}, p99 {tail}{rest}");
    Some(Finding { check: "reading", is_well: is_small(p50) && is_small(p99), text })
}

pub(crate) fn sure(goal: &Goal, confidence: &Confidence<'_>, why: &str) -> Finding {
    let text = format!("{}: {why}", goal.told(confidence));
    Finding { check: "sure", is_well: goal.is_reached(confidence), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::lateness::Lateness;

    #[test]
    fn reading_is_reported_beside_the_service_time() {
        let of = |ns, count| {
            let mut times = Histogram::new(3).unwrap();
            times.record_n(ns, count).unwrap();
            times
        };
        let told = |ns, count, unknown| {
            let own = [OwnTimes { part: Part::Reading, times: of(ns, count), untimed: unknown }];
            let found = reading(&own, &of(1_000_000, 10)).unwrap();
            (found.is_well, found.text)
        };
        let well = "generator delay in the service time: p50 250us of 1.00ms, p99 250us of 1.00ms";
        assert_eq!(told(249_900, 10, 0), (true, well.to_owned()));
        let (is_well, text) = told(260_000, 8, 2);
        assert!(!is_well && text.ends_with("; unknown for 2 of 10 responses"), "{text}");
        let mut some_late = of(1_000, 98);
        some_late += of(900_000, 2);
        let own = [OwnTimes { part: Part::Reading, times: some_late, untimed: 0 }];
        assert!(!reading(&own, &of(1_000_000, 100)).unwrap().is_well);
        let none = "the kernel stamped none of 10 responses: the generator's delay in service times is unknown".to_owned();
        assert_eq!(told(1, 0, 10), (false, none));
        assert!(reading(&[], &of(1, 1)).is_none());
        let own = [OwnTimes { part: Part::Reading, times: of(1, 1), untimed: 0 }];
        assert!(reading(&own, &of(1, 0)).is_none());
    }

    #[test]
    fn starts_are_as_they_were_asked_for_or_not() {
        let even = |within_25_percent| {
            let finding = even(Quality { within_25_percent, coefficient_of_variation: 0.4 });
            (finding.is_well, finding.text)
        };
        assert_eq!(even(0.9), (true, "starts followed the requested even arrivals".to_owned()));
        assert!(!even(0.4).0 && even(0.4).1.contains("only 40.0 % of the gaps"));
        let poisson = |distance, alike| poisson(Randomness { gaps: 1e4, distance, alike });
        assert!(poisson(0.06, -0.07).is_well);
        assert!(!poisson(0.07, 0.0).is_well && !poisson(0.0, -0.08).is_well);
        let few = Randomness { gaps: 100.0, distance: 0.2, alike: 0.3 };
        assert!(super::poisson(few).is_well);
    }

    fn late(generator: f64, queued_ms: u64) -> OperationStats {
        let mut stats = OperationStats::new();
        stats.response.record_n(10_000_000, 100).unwrap();
        stats.service.record_n(6_000_000, 100).unwrap();
        stats.wait.record_n(4_000_000, 100).unwrap();
        stats.lateness = Lateness { target: 0.4 - generator, generator, ..Lateness::default() };
        stats.queued = Duration::from_millis(queued_ms);
        stats
    }

    #[test]
    fn the_generators_own_delay_is_a_share_of_all_response_time() {
        let [p50, p99] = [50.0, 99.0].map(Percentile);
        assert_eq!(own(&OperationStats::new(), p99), None);
        let told = own(&late(0.06, 20), p50).unwrap();
        assert!(
            told.is_well && told.text.starts_with("generator delay: 8.0 % of response time"),
            "{told:?}"
        );
        assert!(own(&late(0.06, 200), p50).is_some_and(|told| !told.is_well));
        let mut skipped = late(0.06, 20);
        skipped.lateness.generator = 9.0;
        let told = own(&skipped, p99).unwrap().text;
        assert!(told.starts_with("generator delay: 96.4 % of response time"), "{told}");
    }

    #[test]
    fn a_short_delay_of_the_generator_is_no_problem_even_if_responses_are_short() {
        for (ns, is_well) in [(900_000, true), (1_100_000, false)] {
            let mut stats = OperationStats::new();
            stats.response.record_n(2 * ns, 100).unwrap();
            stats.wait.record_n(ns, 100).unwrap();
            stats.lateness.generator = float(ns) * 1e-9 * 100.0;
            let found = own(&stats, Percentile(99.0)).unwrap();
            assert_eq!(found.is_well, is_well, "{found:?}");
        }
    }

    #[test]
    fn beside_a_percentile_the_generators_own_delay_is_as_long_as_it_may_be() {
        for (generator, queued_ms, percent, told) in [
            // Half of the requests may account for all of the delay, so the bound is twice the mean of 0.1 ms.
            (0.01, 0, 50.0, "at most 200us (2.0 %) of the response p50"),
            // One request in a hundred may account for all of the delay, but no request waited for longer than 4 ms.
            (0.01, 0, 99.0, "at most 4.00ms (40.0 %) of the response p99"),
            (0.000_1, 0, 99.0, "at most 100us (1.0 %) of the response p99"),
            (0.01, 100, 99.9, "at most 5.00ms (50.0 %) of the response p99.9"),
            (0.0, 0, 100.0, "at most 0ns (0.0 %) of the response p100"),
        ] {
            let found = own(&late(generator, queued_ms), Percentile(percent)).unwrap();
            assert!(found.text.ends_with(told), "{found:?}");
        }
    }

    #[test]
    fn unstarted_slots_are_in_the_percentile_of_the_generators_own_delay() {
        let told = |percent| {
            let mut stats = late(1.0, 0);
            stats.response.record_n(90_000_000, 10).unwrap();
            own(&stats, Percentile(percent)).unwrap().text
        };
        // There are 110 slots. 100 of them were started, at most 4 ms late. The mean delay of all slots is 9.09 ms.
        let text = told(90.0);
        assert!(text.contains("at most 4.00ms ("), "{text}");
        let text = told(99.0);
        assert!(text.contains("at most 90.0ms (100.0 %) of the response p99"), "{text}");
    }
}
