//! Tests that runs with shapes, random arrivals, shards and recordings have the slots that a plan of the load lists.

use crate::command::object;
use crate::running::{output, refusal, side_by_side};
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn results(load: &str) -> Value {
    object(&output(&format!("run {load} -c 64 --json -")))
}

fn listed(load: &str) -> usize {
    let output = output(&format!("plan {load} --csv -"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() - 1
}

#[test]
fn due_slots_are_those_of_the_plan() {
    let loads = [
        "--rate 400/s --duration 1s --arrivals gamma:0.2 --seed 5",
        "--shape \"ramp 0/s..800/s 500ms, hold 500ms, ramp ..0/s 200ms\" --arrivals poisson",
        "--shape \"(hold 1k/s 100ms, hold 0/s 300ms) forever\" --duration 1s",
        "--shape \"hold 0/s 300ms, sine 100/s..1k/s period 300ms x2\" --arrivals jitter:0.5 --shard 2/3:1",
        "--shape \"ladder 100/s..500/s steps 5 each 1s\" --duration 1200ms --arrivals poisson",
    ];
    side_by_side(loads, |load| {
        let results = results(load);
        assert_adds_up(&results);
        assert_eq!(results["due"], listed(load), "{load}: {results}");
    });
}

#[test]
fn a_recording_is_replayed_to_its_end() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("starts.csv");
    let file = file.display();
    let recorded = format!("--shape \"ramp 10/s..500/s 1s\" --arrivals gamma:0.3 --csv {file}");
    assert_eq!(output(&format!("plan {recorded}")).status.code(), Some(0));
    for (speed, rate) in [("", "1/s"), ("--rate 2/s", "2/s")] {
        let load = format!("--arrivals replay:{file} {speed}");
        let results = results(&load);
        assert_adds_up(&results);
        assert_eq!(results["due"], listed(&load), "{load}: {results}");
        assert_eq!(results["settings"]["rate"], rate, "{results}");
    }
}

fn file(folder: &TempDir, name: &str, text: &str) -> String {
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_recording_ends_with_the_start_of_its_last_request() {
    let folder = TempDir::new().unwrap();
    let recordings = [
        ("0\n0.2\n0.5\n0.5\n0.5\n", "", 5),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--requests 5", 5),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--requests 9", 5),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--duration 1h", 5),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--warmup 100ms", 4),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--shard 2/2", 2),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--shard 1/2 --threads 1 --target-latency 100ms", 3),
        ("0\n0.2\n0.5\n0.5\n0.5\n", "--shape \"hold 2/s 150ms\"", 2),
        ("0.3\n", "", 1),
        ("0\n0\n0\n", "", 3),
    ];
    side_by_side(recordings.into_iter().enumerate(), |(case, (times, options, due))| {
        let file = file(&folder, &format!("starts-{case}"), times);
        let load = format!("--arrivals replay:{file} {options}");
        let results = results(&load);
        assert_adds_up(&results);
        assert_eq!((&results["due"], &results["started"]), (&due.into(), &due.into()), "{load}");
        assert_eq!(results["ratio"], 1.0, "{load}: {results}");
    });
}

#[test]
fn a_recording_whose_last_requests_are_skipped_ends_too() {
    let folder = TempDir::new().unwrap();
    let file = file(&folder, "starts", "0\n0.01\n0.02\n");
    let options = "-c 1 --skip-later-than 50ms --target-latency 300ms --json -";
    let output = output(&format!("run --arrivals replay:{file} {options}"));
    let results = object(&output);
    assert_eq!((&results["started"], &results["skipped"]), (&1.into(), &2.into()), "{results}");
}

#[test]
fn the_duration_ends_a_recording_earlier() {
    let folder = TempDir::new().unwrap();
    let file = file(&folder, "starts", "0\n0.1\n9000\n");
    let results = results(&format!("--arrivals replay:{file} --duration 200ms"));
    assert_adds_up(&results);
    assert_eq!((&results["due"], &results["duration_seconds"]), (&2.into(), &0.2.into()));
}

#[test]
fn the_ratio_is_relative_to_the_slots_that_were_due() {
    // The last slot is due in the last nanosecond, which is usually too late to start it.
    let load = "--rate 10/s --duration 100000001ns";
    let results = results(load);
    assert_adds_up(&results);
    let [started, due] = ["started", "due"].map(|name| results[name].as_f64().unwrap());
    assert_eq!((due, &results["ratio"]), (2.0, &(started / due).into()), "{results}");
    assert!(started >= due || results["verdict"] != "on-schedule", "{results}");
    let folder = TempDir::new().unwrap();
    let cut = file(&folder, "cut", "0.1\n0.1\n0.1\n");
    let output = output(&format!(
        "run --arrivals replay:{cut} --duration 100000001ns --fail-below 0.99 --json -"
    ));
    let results = object(&output);
    let is_complete = results["started"] == 3;
    assert_eq!(output.status.code(), Some(if is_complete { 0 } else { 3 }), "{results}");
    assert!(is_complete || results["verdict"] != "on-schedule", "{results}");
}

#[test]
fn the_rate_over_time_follows_the_shape() {
    let shape = "hold 200/s 1s, hold 50/s 1s, hold 300/s 1s";
    let results = results(&format!("--shape \"{shape}\" --duration 10min"));
    assert_adds_up(&results);
    assert_eq!(
        (&results["settings"]["shape"], &results["settings"]["rate"]),
        (&shape.into(), &Value::Null)
    );
    let shape = |to: f64| {
        200.0 * to.min(1.0) + 50.0 * (to - 1.0).clamp(0.0, 1.0) + 300.0 * (to - 2.0).max(0.0)
    };
    let mut asked = 0.0;
    for interval in results["rate_over_time"].as_array().unwrap() {
        let [from, to, rate] = ["from_seconds", "to_seconds", "target_rate"]
            .map(|name| interval[name].as_f64().unwrap());
        asked += rate * (to - from);
        assert!((asked - shape(to)).abs() < 0.001, "{asked} until {to}: {results}");
    }
    assert!((asked - 550.0).abs() < 0.001, "{results}");
    let output = output("run -v --shape \"hold 200/s 2100ms\"");
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("over time, from    requested     achieved"), "{report}");
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("hold 200/s 2100ms, 16 connections"), "{shown}");
    assert!(shown.contains("/s of 200/s  backlog"), "{shown}");
}

#[test]
fn an_invalid_run_prints_one_line_and_has_status_2() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("starts");
    fs::write(&file, "1\n2,5\n").unwrap();
    let recording = format!("run --arrivals replay:{}", file.display());
    for (line, told) in [
        ("run --shape \"hold 0/s 1s\"", "this load has no requests"),
        ("run --shape \"hold 5/s 1s\" --warmup 1s", "so nothing would be recorded"),
        ("run --shape \"hold 5/s 1s\" --rate 5", "cannot be used with"),
        ("run --arrivals replay:/nonexistent/file", "cannot read /nonexistent/file"),
        (&recording, "line 2 column 1: `2,5` is not a time"),
        ("run --shard 4/3", "there is no process 4 of 3"),
        ("run --until-confident \"p99 5%\" --shard 1/2", "leave out --until-confident or --shard"),
        ("run --until-confident \"p99 5%\" --requests 9", "leave out --requests"),
        ("run --until-confident \"p99 5%\" --shape \"ramp 1/s..9/s 1s\"", "become more certain"),
        ("run --fail-fast", "no requirement can end the run: write for example --fail-if"),
        ("run --fail-fast --fail-if achieved>1/s", "no requirement can end the run"),
        ("run --fail-fast --fail-if failed=0 --run x", "--fail-fast: no node of a fleet has"),
    ] {
        let stderr = refusal(output(line));
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{line}: {stderr}");
    }
}
