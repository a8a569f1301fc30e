//! Tests that a decision before the end of a run is true at the end, and that each criterion is decided at the end.

use crate::judged::criteria::Figures;
use crate::judged::criteria::tests::read;
use crate::results::labels::tests::ended;
use crate::results::lateness::Lateness;
use crate::results::operation::Operation;
use crate::results::stats::OperationStats;
use nanopace::Nanos;
use proptest::prelude::*;
use std::time::Duration;

/// The wait time in ns, whether the request succeeds, the service time in ns, and the number of other requests that
/// start before this one ends.
type Request = (u64, bool, u64, usize);

fn start(stats: &mut OperationStats, (wait, ..): Request) {
    stats.start(Duration::from_nanos(wait), Lateness::default());
}

fn end(stats: &mut OperationStats, (_, is_well, ns, _): Request) {
    let label = if ns % 2 == 0 { "a" } else { "b" };
    stats.end(&Operation { end: Nanos::from_nanos(ns), ..ended(label, is_well, 0) });
}

fn course(requests: &[Request]) -> Vec<(OperationStats, u64)> {
    let events = requests.iter().enumerate().flat_map(|(index, request)| {
        [(2 * index, *request, true), (2 * (index + request.3) + 1, *request, false)]
    });
    let mut events: Vec<_> = events.collect();
    events.sort_by_key(|(at, ..)| *at);
    let mut course = vec![(OperationStats::new(), 0)];
    for (_, request, is_start) in events {
        let (mut stats, in_flight) = course[course.len() - 1].clone();
        (if is_start { start } else { end })(&mut stats, request);
        course.push((stats, if is_start { in_flight + 1 } else { in_flight - 1 }));
    }
    course
}

/// Returns the results of a run that ends in this state, with the given number of overdue slots.
fn cut((stats, in_flight): &(OperationStats, u64), overdue: u64) -> OperationStats {
    let mut stats = stats.clone();
    (0..*in_flight).for_each(|_| stats.unfinished(Duration::from_nanos(7)));
    if overdue > 0 {
        stats.unstarted(Duration::from_nanos(9), Lateness::default(), overdue);
    }
    stats
}

/// A criterion about one of these figures is decided as soon as the last request has ended.
const DECIDABLE: &str = "p99 response, p50 response, p90 service, p100 response, p0 wait, p75 wait, mean response, \
    max service, min response, count response, due, started, completed, failed, unfinished, unstarted, errors";
/// A criterion about one of these figures may be decided before the last request has ended.
const OTHERS: &str = "retried, ratio, p90 response of \"a\", max response of \"a\", failed of \"a\", errors of \"a\"";

fn request() -> impl Strategy<Value = Request> {
    (0..3_000_u64, prop::bool::weighted(0.9), 0..6_000_u64, 0..5_usize)
}

fn criterion() -> impl Strategy<Value = (String, bool)> {
    let figures = DECIDABLE.split(", ").chain(OTHERS.split(", ")).collect::<Vec<_>>();
    let figure = prop::sample::select(figures);
    let operator = prop::sample::select(vec!["<", "<=", ">", ">=", "="]);
    (figure, operator, 0..5_u64, 0..6_000_u64).prop_map(|(figure, operator, few, ns)| {
        let limit = match figure.split(' ').next().unwrap_or_default() {
            "errors" | "ratio" => format!("{}%", few * 10),
            name if name.starts_with(['m', 'p']) => format!("{ns}ns"),
            _ => (few * 3).to_string(),
        };
        (format!("{figure} {operator} {limit}"), DECIDABLE.contains(figure))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_certain_is_true_at_every_later_end(
        requests in prop::collection::vec(request(), 0..24),
        criteria in prop::collection::vec(criterion(), 8),
        more in prop_oneof![Just(Some(0)), (0..20_u64).prop_map(Some), Just(None)],
    ) {
        let (course, all) = (course(&requests), u64::try_from(requests.len()).unwrap());
        let most = more.map(|more| all + more);
        let criteria: Vec<_> = criteria.iter().map(|(text, of)| (read(text), *of)).collect();
        let mut certain = vec![(false, false); criteria.len()];
        for moment in &course {
            let now = Figures::so_far(&moment.0);
            let ends = [0, most.unwrap_or(all) - now.due].map(|overdue| cut(moment, overdue));
            for ((criterion, _), (is_lost, is_certain)) in criteria.iter().zip(&mut certain) {
                *is_lost |= criterion.is_lost(&now, most);
                *is_certain |= criterion.is_certain(&now, most);
                for end in &ends {
                    let holds = criterion.check(&Figures::so_far(end)).is_none();
                    prop_assert!(!(*is_lost && holds), "{} is not lost", criterion);
                    prop_assert!(!*is_certain || holds, "{} is not certain", criterion);
                }
            }
        }
        let whole = Figures::so_far(&course[course.len() - 1].0);
        for (criterion, _) in criteria.iter().filter(|(_, is_decidable)| *is_decidable) {
            let is_missed = criterion.check(&whole).is_some();
            prop_assert_eq!(criterion.is_lost(&whole, Some(all)), is_missed, "{}", criterion);
        }
    }
}

/// The run has 1000 requests. Those that are not listed have not started yet.
#[test]
fn a_requirement_is_lost_with_the_request_that_decides_it() {
    let [fast, slow, failed] = [(0, true, 10, 0), (0, true, 3_000, 0), (0, false, 10, 0)];
    for (text, so_far, decisive) in [
        ("errors <= 1%", vec![(failed, 10)], failed),
        ("errors < 1%", vec![(failed, 9)], failed),
        ("errors <= 0%", vec![], failed),
        ("failed < 5", vec![(failed, 4)], failed),
        ("failed = 0", vec![(fast, 7)], failed),
        ("completed >= 998", vec![(failed, 2)], failed),
        ("completed = 998", vec![(fast, 998)], fast),
        ("p99 response < 3us", vec![(fast, 10), (slow, 10)], slow),
        ("p99 response < 3us", vec![(fast, 10), (failed, 10)], slow),
        ("p99 response < 3us", vec![(slow, 10)], failed),
        // In the histogram, 3000 ns and 3001 ns are in the same bucket.
        ("p99.9 response <= 3001ns", vec![(slow, 500), (failed, 1)], failed),
        ("p50 service < 3us", vec![(slow, 500)], slow),
        ("max response < 1us", vec![(fast, 5)], slow),
        ("max service < 1us", vec![(failed, 5)], slow),
        ("mean response <= 30ns", vec![(slow, 9)], slow),
        ("max response of \"a\" < 1us", vec![(fast, 5)], slow),
    ] {
        let mut stats = OperationStats::new();
        for (request, count) in so_far.iter().chain(&[(decisive, 1)]) {
            let is_lost = read(text).is_lost(&Figures::so_far(&stats), Some(1_000));
            assert!(!is_lost, "{text} before {request:?}");
            (0..*count).for_each(|_| {
                start(&mut stats, *request);
                end(&mut stats, *request);
            });
        }
        assert!(read(text).is_lost(&Figures::so_far(&stats), Some(1_000)), "{text}");
    }
}

#[test]
fn some_criteria_cannot_end_a_run() {
    let can_end = |text: &&str| read(text).can_end_run();
    let can = ["p99 response < 1s", "max setup < 1s", "failed of \"a\" = 0", "ratio > 0.9"];
    assert!(can.iter().all(can_end));
    let cannot = ["achieved > 9/s", "gaps > 9%", "lateness generator < 1s", "p99 first-item < 1s"];
    assert!(!cannot.iter().any(can_end));
    assert!(!can_end(&"failed of \"others\" = 0"));
}
