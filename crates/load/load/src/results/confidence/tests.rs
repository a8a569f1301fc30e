//! Tests how often confidence intervals contain the true percentile. If the probability for one interval is 95 %, then
//! almost always 930 to 970 of 1000 intervals contain the true percentile.

use super::simulated::Queue;
use super::*;

/// Returns for each truth the share of the runs whose interval contains it, and the share whose interval is rough.
fn coverage(queue: Queue, requests: f64, runs: u64, truths: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut covered = vec![(0, 0); truths.len()];
    for seed in 0..runs {
        let run = queue.run(requests, seed * 7_919 + 1);
        let batched = run.batched();
        for (counts, &(quantile, truth)) in covered.iter_mut().zip(truths) {
            let Range { low, high, is_rough } = batched.range(quantile).unwrap();
            let [low, high] = [low, high.unwrap_or(u64::MAX)].map(|ns| float(ns) * 1e-3);
            counts.0 += u64::from(low <= truth && truth <= high);
            counts.1 += u64::from(is_rough);
        }
    }
    let share = |count| float(count) / float(runs);
    covered.into_iter().map(|(covered, rough)| (share(covered), share(rough))).collect()
}

/// Returns a quantile and the true response time at this quantile. Response times in an M/M/1 queue are exponential.
fn truth(rate: f64, quantile: f64) -> (f64, f64) {
    (quantile, -(1.0 - quantile).ln() / (1.0 - rate))
}

#[track_caller]
fn assert_covers(queue: Queue, requests: f64, truths: &[(f64, f64)]) {
    for (share, rough) in coverage(queue, requests, 1_000, truths) {
        assert!((0.92..=0.97).contains(&share) && rough < 0.1, "{share} {rough}: {truths:?}");
    }
}

#[test]
fn a_queue_that_is_half_full() {
    let truths = [0.5, 0.99].map(|quantile| truth(0.5, quantile));
    assert_covers(Queue::new(0.5), 20_000.0, &truths);
}

/// In a queue with a utilization of 90 %, response times depend on each other over several hundred requests.
#[test]
fn a_queue_at_90_percent() {
    let truths = [0.5, 0.9].map(|quantile| truth(0.9, quantile));
    assert_covers(Queue::new(0.9), 50_000.0, &truths);
}

/// A stall takes as long as twelve mean service times, and there are about 67 stalls in a run.
#[test]
fn a_server_that_stalls_now_and_then() {
    let stalls = Queue { stalls: Some((600.0, 12.0)), ..Queue::new(0.5) };
    let long = stalls.run(5_000_000.0, 1);
    let long = |quantile| (quantile, float(long.all.value_at_quantile(quantile)) * 1e-3);
    assert_covers(stalls, 20_000.0, &[0.5, 0.99].map(long));
}

/// In a queue with a utilization of 99 %, response times depend on each other over tens of thousands of requests. No
/// method gives valid intervals for a run with only ten times as many requests.
#[test]
fn a_queue_at_99_percent_needs_longer_runs() {
    let truths = [0.5, 0.99].map(|quantile| truth(0.99, quantile));
    let covered = coverage(Queue::new(0.99), 100_000.0, 60, &truths);
    let [(median, median_rough), (_, rough)] = covered[..] else { panic!("{covered:?}") };
    assert!((0.8..0.95).contains(&median) && median_rough > 0.5, "{covered:?}");
    assert!(rough > 0.99, "{covered:?}");
}

#[test]
fn nothing_is_known_of_the_greatest_time_and_of_a_moment() {
    let run = Queue::new(0.5).run(1_000.0, 1);
    let batched = run.batched();
    assert_eq!([0.0, 1.0].map(|quantile| batched.range(quantile)), [None, None]);
    let short = Batched { batches: batched.batches[..3].to_vec(), ..batched.clone() };
    assert_eq!(short.range(0.5), None);
    let none = Batched { sample: Sample::exact(&Histogram::new(3).unwrap()), ..batched }.range(0.5);
    assert_eq!(none, None);
}

#[test]
fn a_percentile_beyond_all_measured_times_has_no_upper_end() {
    let run = Queue::new(0.5).run(1_000.0, 1);
    let range = run.batched().range(0.9999).unwrap();
    assert_eq!((range.high, range.is_rough), (None, true));
    let range = run.batched().range(0.5).unwrap();
    assert!(range.high.is_some_and(|high| high > range.low) && !range.is_rough, "{range:?}");
    let bounds = run.all.clone();
    let bounded = Batched { sample: Sample::bounded(&run.all, &bounds), ..run.batched() };
    assert_eq!(bounded.range(0.5).map(|range| range.high), Some(None));
}

/// For the median of 10 000 independent times, the ends of the interval are at the 49th and the 51st percentile.
#[test]
fn times_that_are_all_alike_in_batches_count_as_independent() {
    let mut batch = Histogram::new(2).unwrap();
    (1..=250).for_each(|time| batch.record(time).unwrap());
    let mut all = Histogram::new(3).unwrap();
    (0..40).for_each(|_| all.add(&batch).unwrap());
    let batched = Batched { sample: Sample::exact(&all), batches: vec![&batch; 40] };
    let Range { low, high, is_rough } = batched.range(0.5).unwrap();
    assert_eq!((low, high, is_rough), (123, Some(128), false));
}

#[test]
fn students_distribution_is_that_of_the_tables() {
    for (degrees, quantile) in [(3.0, 3.182), (7.0, 2.365), (31.0, 2.040), (63.0, 1.998)] {
        assert!((student(degrees) / quantile - 1.0).abs() < 0.01, "{degrees}");
    }
}
