//! Tests that the merged parts of a load equal one run of the whole load, and that other parts are rejected.

use super::{Course, Server, run};
use crate::judged::merged::{PartFile, merged};
use crate::judged::summary::Summary;
use crate::judged::verdict::Verdict;
use crate::results::confidence::LEAST_BATCHES;
use crate::results::nodes::timeline::Timeline;
use crate::results::over_time::OverTime;
use crate::results::realtime::{Class, RealtimeResult};
use crate::shown::json::Object;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::time::Duration;

fn ran(options: &str) -> Summary {
    let server = Server { seed: 3, mean: Duration::from_nanos(9), failed_share: 0.2 };
    run(options, &Course { server: Some(server), ..Course::default() }).summary
}

fn part(options: &str, shard: &str) -> Value {
    let mut summary = ran(&format!("{options} --shard {shard}"));
    summary.title.settings.insert("shard".to_owned(), shard.into());
    serde_json::to_value(Object::<()>::new(&summary, None)).unwrap()
}

fn merge(parts: &[Value]) -> Result<Summary, String> {
    let file = |part: &Value| serde_json::from_value::<PartFile>(part.clone()).unwrap();
    let files: Vec<_> =
        (1..).zip(parts).map(|(number, part)| (format!("{number}.json"), file(part))).collect();
    merged(&files)
}

fn by_second(over_time: &OverTime) -> Vec<(f64, u64, u64)> {
    let intervals = Timeline::of(over_time).intervals();
    let counts = |asked: f64, started, due| ((asked * 1e6).round(), started, due);
    intervals.iter().map(|it| counts(it.asked, it.brief.started(), it.due.slots())).collect()
}

fn are_near(one: &Histogram<u64>, other: &Histogram<u64>) -> bool {
    let at = |percent: i32| [one, other].map(|of| of.value_at_percentile(percent.into()));
    let is_near = |[a, b]: [u64; 2]| a.abs_diff(b) <= b / 500;
    one.len() == other.len() && (0..=100).all(|percent| is_near(at(percent)))
}

/// The rates are chosen such that no slot is due exactly when a connection looks for one, so the rounding of starts to
/// 1 ns has no effect on the results.
#[test]
fn merged_parts_are_one_run_of_the_whole() {
    for (options, shards) in [
        ("--rate 89.7/s --duration 8s", ["1/3", "2/3", "3/3"]),
        (
            "--rate 89.7/s --arrivals poisson --seed 5 --duration 8s --warmup 1s",
            ["3/3", "1/3", "2/3"],
        ),
        ("--shape peak_200/s_90s", ["1/1:2:5", "2/1:2:5", "3/1:2:5"]),
    ] {
        let (whole, sum) =
            (ran(options), merge(&shards.map(|shard| part(options, shard))).unwrap());
        let counts = |of: &Summary| {
            let stats = &of.stats;
            (stats.due(), stats.started(), stats.failures.clone(), stats.unstarted, of.verdict)
        };
        assert_eq!(counts(&sum), counts(&whole), "{options}");
        assert!(sum.stats.failed() > 50 && sum.duration == whole.duration, "{options}");
        let times = |of: &Summary| {
            let stats = of.stats.clone();
            [stats.wait, stats.service, stats.response, stats.bounds]
        };
        for (number, (one, other)) in times(&sum).iter().zip(&times(&whole)).enumerate() {
            assert!(are_near(one, other), "{options}: times {number}");
        }
        assert_eq!(by_second(&sum.over_time), by_second(&whole.over_time), "{options}");
        let asked = |of: &Summary| of.over_time.intervals().iter().map(|it| it.asked).sum::<f64>();
        for (one, other) in [
            (sum.target_hz, whole.target_hz),
            (sum.achieved_hz, whole.achieved_hz),
            (sum.ratio, whole.ratio),
            (asked(&sum), asked(&whole)),
        ] {
            assert!((one - other).abs() < 1e-9 * other, "{options}: {one} {other}");
        }
    }
}

type Change<'a> = &'a dyn Fn(&mut Vec<Value>);

#[test]
fn parts_that_do_not_belong_together_are_rejected() {
    let parts = ["1/3", "2/3", "3/3"].map(|shard| part("--rate 50/s --requests 20", shard));
    let cases: [(Change<'_>, &str); 9] = [
        (&|parts| parts[0]["loads"] = json!({}), "1.json has the results of several loads: "),
        (&|parts| drop(parts.pop()), "part 3/3 is missing: name the --json files of all parts"),
        (
            &|parts| parts[2] = parts[0].clone(),
            "1.json and 3.json are both part 1/3: name each part only once",
        ),
        (
            &|parts| parts[1]["settings"]["seed"] = 7.into(),
            "the loads differ: --seed is none in 1.json and 7 in 2.json",
        ),
        (
            &|parts| parts[2]["settings"]["shard"] = "3/4".into(),
            "the loads differ: the number of parts is 3 in 1.json and 4 in 3.json",
        ),
        (
            &|parts| parts[0]["settings"]["shard"] = "all".into(),
            "1.json is not the result of a part of a load: ",
        ),
        (
            &|parts| parts[0]["shard_results"] = Value::Null,
            "1.json is not the result of a part of a load: ",
        ),
        (&|parts| parts[1]["shard_results"] = "?".into(), "cannot merge 2.json: "),
        (
            &|parts| parts[1]["start"] = "1970-01-01T00:00:00.004Z".into(),
            "2.json started 4ms later than 1.json: ",
        ),
    ];
    for (change, told) in cases {
        let mut changed = parts.to_vec();
        change(&mut changed);
        let error = merge(&changed).unwrap_err();
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn starts_may_differ_by_the_errors_of_the_clocks() {
    let parts = ["1/2", "2/2"].map(|shard| part("--rate 50/s --requests 20", shard));
    for (ms, is_merged) in [(0, true), (6, true), (7, false)] {
        let mut parts = parts.clone();
        for (part, ms) in parts.iter_mut().zip([0, ms]) {
            let moment = format!("1970-01-01T00:00:00.{ms:03}Z");
            let error = 0.003;
            part["start_at"] =
                json!({"moment": moment, "late_seconds": 0.2, "clock_error_seconds": error});
        }
        assert_eq!(merge(&parts).is_ok(), is_merged, "{ms}");
    }
}

#[test]
fn a_part_that_is_incomplete_or_warned_is_named() {
    let mut parts = ["1/2", "2/2"].map(|shard| part("--rate 50/s --requests 20", shard));
    parts[1]["incomplete"] = "ended early".into();
    parts[0]["checks"] = json!([{"is_well": false, "text": "it was hot"}]);
    let whole = merge(&parts).unwrap();
    assert_eq!(whole.incomplete.as_deref(), Some("2.json: ended early"));
    assert!(whole.warnings.contains(&"1.json: it was hot".to_owned()), "{:?}", whole.warnings);
    assert_eq!(whole.stats.due(), 40);
}

/// The only slot is in the warm-up.
#[test]
fn a_whole_without_slots_has_the_verdict_of_its_parts() {
    let options = "--rate 1/s --warmup 10ms --duration 10ms";
    let mut parts = ["1/2", "2/2"].map(|shard| part(options, shard));
    let whole = ran(options);
    assert_eq!((whole.stats.due(), whole.verdict), (0, Verdict::OnSchedule));
    assert_eq!(merge(&parts).unwrap().verdict, whole.verdict);
    for (told, verdict) in
        [("nothing-recorded", Verdict::NothingRecorded), ("paused", Verdict::Paused)]
    {
        parts[1]["verdict"] = told.into();
        assert_eq!(merge(&parts).unwrap().verdict, verdict);
    }
}

#[test]
fn the_whole_has_the_settings_pools_and_scheduling_class_of_its_parts() {
    let mut parts = ["1/2", "2/2"].map(|shard| part("--rate 50/s --requests 40", shard));
    for (part, (csv, class)) in
        parts.iter_mut().zip([("1.csv", "SCHED_RR 10"), ("2.csv", "nice -15")])
    {
        part["realtime"] = json!({"class": class, "returned": 1});
        part["settings"]["connections"] = "1..9".into();
        part["settings"]["csv"] = csv.into();
        part["pool"] = json!({"first": 1, "most": 9, "opened": 5, "last_opened_seconds": 0.5});
    }
    let whole = merge(&parts).unwrap();
    assert_eq!(whole.title.settings.keys().collect::<Vec<_>>(), ["connections"]);
    let pool = whole.pool.unwrap();
    assert_eq!((pool.first, pool.most, pool.opened), (2, 18, 10));
    assert_eq!(whole.realtime, Some(RealtimeResult { class: Class::Nice, returned: 2 }));
    for name in ["pool", "realtime"] {
        parts[0][name] = Value::Null;
    }
    let whole = merge(&parts).unwrap();
    assert_eq!((whole.pool, whole.realtime), (None, None));
}

#[test]
fn a_short_whole_has_enough_batches_for_a_comparison() {
    let parts = ["1/2", "2/2"].map(|shard| part("--rate 50/s --duration 1s", shard));
    assert!(merge(&parts).unwrap().confidence().batches.len() >= LEAST_BATCHES);
}
