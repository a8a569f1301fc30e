//! Tests comparisons of simulated runs, with and without differences between them, and runs that cannot be compared.

use super::demand::Demand;
use super::*;
use crate::console::human::float;
use crate::console::machine::Machine;
use crate::results::confidence::simulated::Queue;
use crate::results::retained_histograms::{Batch, Times};
use hdrhistogram::Histogram;
use serde_json::Value;
use std::cmp::Ordering;
use std::slice;

fn queue(slower: f64) -> Queue {
    Queue { slower, ..Queue::new(0.5 / slower) }
}

pub(super) fn recording(queue: Queue, requests: f64, seed: u64) -> StoredRun {
    let histograms = queue.run(requests, seed).kept();
    let sum = |of: fn(&Batch) -> u64| histograms.batches.iter().map(of).sum();
    StoredRun {
        url: "http://127.0.0.1/".to_owned(),
        start: format!("2026-11-26T12:00:00.{seed:03}Z"),
        started: sum(|batch| batch.started),
        failed: sum(|batch| batch.failed),
        skipped: 0,
        fleet: None,
        loads: None,
        scenario_hash: None,
        settings: [("pin".to_owned(), false.into())].into_iter().collect(),
        target_rate: 100.0,
        duration_seconds: 1.0,
        machine: Machine { cores: 2, system: "linux".to_owned(), processor: None },
        incomplete: None,
        histograms,
    }
}

/// Compares pairs of runs. In the second run of each pair, requests take `slower` times as long. The returned function
/// counts the pairs that get a given word for a percentile.
fn words(slower: f64, requests: f64, pairs: u64, percents: &[f64]) -> impl Fn(f64, Word) -> usize {
    let mut words = Vec::new();
    for pair in 0..pairs {
        let first = recording(queue(1.0), requests, pair * 2 + 1);
        let second = recording(queue(slower), requests, pair * 2 + 2);
        let sides = [Side::new(slice::from_ref(&first)), Side::new(slice::from_ref(&second))];
        let row = |percent: &f64| Row::new(Figure::Response(*percent), &sides, None);
        words.extend(percents.iter().map(row).map(|row| (row.figure, row.word)));
    }
    move |percent, word| {
        let wanted = (Figure::Response(percent), word);
        words.iter().filter(|said| **said == wanted).count()
    }
}

#[test]
fn at_most_5_of_100_equal_pairs_are_reported_as_different() {
    let told = words(1.0, 20_000.0, 200, &[50.0, 99.0]);
    for percent in [50.0, 99.0] {
        let alarms = told(percent, Word::Faster) + told(percent, Word::Slower);
        let too_few = told(percent, Word::TooFew);
        assert!(alarms <= 10 && too_few <= 20, "p{percent}: {alarms} {too_few}");
    }
}

#[test]
fn times_that_are_a_tenth_longer_are_found() {
    let told = words(1.1, 60_000.0, 100, &[90.0]);
    assert!(told(90.0, Word::Slower) >= 95, "{}", told(90.0, Word::Slower));
}

/// Each batch contains each time from 1 to 1000, so the percentile n / 10 is n.
#[test]
fn a_percentile_names_the_rank_that_its_decimals_say() {
    let mut run = recording(queue(1.0), 20_000.0, 1);
    let mut times = Histogram::<u64>::new(3).unwrap();
    (1..=1_000).for_each(|time| times.record(time).unwrap());
    let none = Histogram::<u64>::new(3).unwrap();
    let times = Times { service: times.clone(), response: times, lower_bounds: none };
    run.histograms.batches.iter_mut().for_each(|batch| batch.times = times.clone());
    run.histograms.all = times;
    let side = Side::new(slice::from_ref(&run));
    let told = side.estimate(Figure::Response(99.9), 1.0).unwrap().value;
    assert_eq!(told.total_cmp(&999.0), Ordering::Equal, "{told}");
}

fn compared(first: &StoredRun, second: &StoredRun) -> Comparison {
    Comparison::new(slice::from_ref(first), slice::from_ref(second)).unwrap()
}

#[test]
fn a_difference_beyond_chance_fails_the_change_that_names_it() {
    let [first, second] = [recording(queue(1.0), 20_000.0, 1), recording(queue(1.3), 20_000.0, 2)];
    let comparison = compared(&first, &second);
    let failed = |text: &str| text.parse::<Demand>().unwrap().check(&comparison);
    let requirement = "P50 response  slower BY 10 %".parse::<Demand>().unwrap().requirement();
    assert_eq!(requirement, "p50 response not slower by 10 %");
    let told = failed("P50 response  slower by 10%").unwrap();
    assert!(told.starts_with("p50 response is slower by ") && told.contains(" % (P50"), "{told}");
    for text in ["p50 response slower by 60%", "errors higher by 0%"] {
        assert_eq!(failed(text), None, "{text}");
    }
    let unknown = failed("p99.99 service slower by 1%").unwrap();
    assert!(unknown.ends_with("is unknown: there are too few samples"), "{unknown}");
    for wrong in [
        "p50 response slower",
        "p50 response faster by 5%",
        "p51 response slower by 5%",
        "rate slower by 5%",
        "p50 response slower by 5",
        "p50 response slower by -5%",
        "",
    ] {
        assert!(wrong.parse::<Demand>().is_err(), "{wrong}");
    }
}

#[test]
fn a_single_failure_is_no_forbidden_change_of_the_errors() {
    let [good, mut other] = [1, 2].map(|seed| recording(queue(1.0), 20_000.0, seed));
    other.histograms.batches[3].failed = 1;
    for [first, second] in [[&good, &other], [&other, &good]] {
        let comparison = compared(first, second);
        assert_eq!(comparison.rows[1].word, Word::TooFew);
        let check = |text: &str| text.parse::<Demand>().unwrap().check(&comparison);
        assert_eq!(check("errors higher by 0.1%"), None);
        let unknown = check("errors higher by 0.001%").unwrap();
        assert!(unknown.ends_with("there are too few samples"), "{unknown}");
    }
}

#[test]
fn other_loads_are_refused_and_other_differences_are_reported() {
    let first = recording(queue(1.0), 2_000.0, 1);
    let with = |change: fn(&mut StoredRun)| {
        let mut second = first.clone();
        change(&mut second);
        Comparison::new(slice::from_ref(&first), &[second]).map(|comparison| comparison.told)
    };
    assert_eq!(with(|_| ()), Ok(Vec::new()));
    assert_eq!(
        with(|run| run.target_rate *= 1.06).unwrap_err(),
        "the loads differ by more than 5 %: 100/s and 106/s"
    );
    assert!(
        with(|run| run.duration_seconds = 2.0).unwrap_err().starts_with("the lengths of the runs")
    );
    let told = with(|run| drop(run.settings.insert("arrivals".to_owned(), "poisson".into())));
    assert_eq!(told.unwrap_err(), "the loads differ: --arrivals is none and poisson");
    assert!(with(|run| drop(run.settings.insert("rate".to_owned(), "max".into()))).is_err());
    let told = with(|run| run.incomplete = Some("only 6 of 9 slots started".to_owned())).unwrap();
    assert_eq!(told, ["completeness: A: complete; B: only 6 of 9 slots started"]);
    let told = with(|run| run.scenario_hash = Some("5f".to_owned())).unwrap();
    assert_eq!(told, ["hashes of the --scenario file: A: none; B: 5f"]);
    let told = with(|run| run.machine.cores = 7).unwrap();
    assert_eq!(told, ["machines: A: 2 cores, linux, unknown; B: 7 cores, linux, unknown"]);
    let told = with(|run| drop(run.settings.insert("pin".to_owned(), true.into()))).unwrap();
    assert_eq!(told, ["--pin: A: false; B: true"]);
}

#[test]
fn runs_that_end_with_their_requests_may_differ_in_length() {
    for (name, value) in [("requests", 100.into()), ("data-end", "stop".into())] {
        let mut first = recording(queue(1.0), 2_000.0, 1);
        let counted = Value::clone(&value);
        first.settings.insert(name.to_owned(), counted);
        let mut second = StoredRun { duration_seconds: 9.0, ..first.clone() };
        let compared = |second: &StoredRun| {
            Comparison::new(slice::from_ref(&first), slice::from_ref(second)).is_ok()
        };
        assert!(compared(&second), "{name}");
        second.settings.remove(name);
        assert!(!compared(&second), "{name}");
    }
}

#[test]
fn a_run_counts_once_on_a_side() {
    let [one, two] = [1, 2].map(|seed| recording(queue(1.0), 2_000.0, seed));
    let twice = [one.clone(), two.clone(), one.clone()];
    for [first, second] in [[&twice[..2], &twice[..]], [&twice[..], &twice[1..2]]] {
        let refused = Comparison::new(first, second).unwrap_err();
        assert_eq!(refused, "one side contains the same run twice: name each run only once");
    }
    assert!(Comparison::new(&twice[..2], &twice[..2]).is_ok());
}

#[test]
fn the_sum_of_batches_is_the_run() {
    let run = recording(queue(1.0), 2_000.0, 1);
    assert_eq!(run.check(), Ok(()));
    let edits: [fn(&mut StoredRun); 6] = [
        |run| run.histograms.batches[0].started = u64::MAX,
        |run| run.histograms.batches[0].failed += 1,
        |run| run.histograms.batches.truncate(3),
        |run| run.histograms.batches[1].times.service.reset(),
        |run| run.histograms.batches[1].times.response.reset(),
        |run| run.skipped = 1,
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        let mut changed = run.clone();
        edit(&mut changed);
        let refused = changed.check().unwrap_err();
        assert!(refused.contains(", and the whole run has "), "{index}: {refused}");
    }
}

#[test]
fn secrets_are_reported_as_different_and_not_shown() {
    let mut first = recording(queue(1.0), 2_000.0, 1);
    let headers = serde_json::json!(["Accept: b", "Authorization: Bearer abc"]);
    first.settings.insert("header".to_owned(), headers);
    let mut second = first.clone();
    second.settings["header"][1] = "Authorization: Bearer def".into();
    let told = compared(&first, &second).told;
    let shown = "[\"Accept: b\",\"Authorization: (not shown)\"]";
    assert_eq!(told, [format!("--header: A: {shown}; B: {shown}")]);
}

#[test]
fn closed_loops_are_compared_whatever_rate_they_came_to() {
    let mut first = recording(queue(1.0), 2_000.0, 1);
    first.settings.insert("rate".to_owned(), "max".into());
    let second = StoredRun { target_rate: first.target_rate * 9.0, ..first.clone() };
    assert!(Comparison::new(&[first], &[second]).is_ok());
}

#[test]
fn no_change_is_seen_to_be_small_in_a_run_that_is_incomplete() {
    let first = recording(queue(1.0), 20_000.0, 1);
    let second = StoredRun { incomplete: Some("cut short".to_owned()), ..first.clone() };
    let demand: Demand = "p50 response slower by 5%".parse().unwrap();
    assert_eq!(demand.check(&compared(&first, &first)), None);
    for [first, second] in [[&first, &second], [&second, &first]] {
        assert!(demand.check(&compared(first, second)).unwrap().contains("is unknown"));
    }
    let slower = StoredRun { histograms: queue(1.04).run(20_000.0, 2).kept(), ..second };
    assert!(demand.check(&compared(&first, &slower)).is_some());
}

#[test]
fn the_variance_between_runs_counts_from_three_runs_on() {
    let side = |slower: [f64; 3], seed| {
        let runs = (seed..).zip(slower);
        runs.map(|(seed, slower)| recording(queue(slower), 20_000.0, seed)).collect::<Vec<_>>()
    };
    let word = |first: &[StoredRun], second: &[StoredRun]| {
        let rows = Comparison::new(first, second).unwrap().rows;
        rows.iter().find(|row| row.figure == Figure::Response(50.0)).unwrap().word
    };
    let (calm, slow) = (side([1.0; 3], 1), side([1.15; 3], 4));
    assert_eq!(word(&calm, &slow), Word::Slower);
    assert_eq!(word(&calm[..1], &slow[..1]), Word::Slower);
    let (wild, wilder) = (side([0.9, 1.0, 1.3], 7), side([1.05, 1.3, 0.95], 10));
    assert!(!matches!(word(&wild, &wilder), Word::Slower | Word::Faster));
}

#[test]
fn differences_of_failures_are_found_where_there_are_enough() {
    let first = recording(queue(1.0), 20_000.0, 1);
    let failing = |each: u64| {
        let mut run = first.clone();
        run.histograms.batches.iter_mut().for_each(|batch| batch.failed = each);
        run
    };
    let errors = |comparison: Comparison| comparison.rows[1].word;
    assert_eq!(errors(compared(&first, &first)), Word::NoDifference);
    assert_eq!(errors(compared(&first, &failing(3))), Word::Higher);
    assert_eq!(errors(compared(&failing(3), &first)), Word::Lower);
    let mut few = first.clone();
    few.histograms.batches[7].failed = 4;
    assert_eq!(errors(compared(&first, &few)), Word::TooFew);
    assert_eq!(compared(&first, &first).rows[0].word, Word::NoDifference);
}

fn failing_fast(mut run: StoredRun, percent: u64) -> StoredRun {
    for batch in &mut run.histograms.batches {
        let count = batch.started * percent / 100;
        (batch.started, batch.failed) = (batch.started + count, batch.failed + count);
        for times in [&mut batch.times, &mut run.histograms.all] {
            times.response.record_n(1, count).unwrap();
            times.lower_bounds.record_n(1, count).unwrap();
        }
    }
    run
}

#[test]
fn a_request_that_fails_fast_counts_as_slower_than_all_others() {
    let run = |seed, percent| failing_fast(recording(queue(1.0), 20_000.0, seed), percent);
    let word = |first: &StoredRun, second: &StoredRun, percent| {
        let rows = compared(first, second).rows;
        rows.into_iter().find(|row| row.figure == Figure::Response(percent)).unwrap().word
    };
    let [good, one, two] = [run(1, 0), run(2, 30), run(3, 30)];
    assert_eq!(word(&good, &one, 50.0), Word::Slower);
    assert_eq!(word(&one, &good, 50.0), Word::Faster);
    assert_eq!(word(&one, &two, 50.0), Word::NoDifference);
    let demand = |text: &str| text.parse::<Demand>().unwrap().check(&compared(&good, &one));
    assert!(demand("p50 response slower by 30%").unwrap().starts_with("p50 response is slower"));
    // The p90 is the response time of a request that failed, a lower bound.
    for [first, second] in [[&good, &one], [&one, &good], [&one, &two]] {
        assert_eq!(word(first, second, 90.0), Word::TooFew);
    }
    let unknown = demand("p90 response slower by 1%").unwrap();
    assert!(unknown.ends_with("is unknown: one of the values is only a lower bound"), "{unknown}");
    let row = &compared(&good, &one).rows[3];
    let p90 = row.sides[1].unwrap();
    assert!(p90.is_bound && row.difference.is_none() && row.relative().is_none(), "{row:?}");
    let longest = float(recording(queue(1.0), 20_000.0, 2).histograms.all.response.max());
    assert_eq!([p90.value, p90.high].map(f64::to_bits), [longest, f64::INFINITY].map(f64::to_bits));
}

#[test]
fn a_run_without_a_completed_request_has_no_times() {
    let good = recording(queue(1.0), 2_000.0, 1);
    let mut bad = StoredRun { start: "later".to_owned(), ..good.clone() };
    bad.histograms.all.lower_bounds = bad.histograms.all.response.clone();
    let rows = compared(&good, &bad).rows;
    assert!(rows[2].sides[1].is_none() && rows[2].word == Word::TooFew, "{:?}", rows[2]);
}

#[test]
fn rates_and_shares_have_no_impossible_values() {
    let mut run = recording(queue(1.0), 20_000.0, 1);
    for (index, batch) in run.histograms.batches.iter_mut().enumerate() {
        batch.started = if index == 3 { 20_000 } else { 1 };
        batch.failed = batch.started;
    }
    let rows = compared(&run, &run).rows;
    for row in &rows {
        let least = row.relative().map_or(0.0, |relative| relative.low);
        assert!(row.sides.iter().flatten().all(|side| side.low >= 0.0) && least >= -1.0, "{row:?}");
    }
    let [errors, _] = rows[1].sides.map(Option::unwrap);
    assert!((0.0..=1.0).contains(&errors.low) && errors.high <= 1.0, "{errors:?}");
}

/// The difference between two equal sides has no variance, so it is known even if the values of the sides are rough. Of
/// 20 000 times, only two are above the p99.99.
#[test]
fn variation_that_both_sides_have_in_common_does_not_make_a_difference_unknown() {
    let run = recording(queue(1.0), 20_000.0, 1);
    let rows = Comparison::paired(&run, &run).unwrap().rows;
    let is_rough = |row: &Row| row.sides.iter().flatten().any(|side| side.is_rough);
    assert!(rows.iter().any(|row| is_rough(row) && row.word == Word::NoDifference));
    for row in &rows {
        let is_last = [Figure::Response(99.99), Figure::Service(99.99)].contains(&row.figure);
        assert_eq!(row.word == Word::TooFew, is_last, "{row:?}");
    }
}
