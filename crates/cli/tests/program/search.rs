//! `nanopace search` as its users see it. A busy machine may make the answer lower, or hide it behind
//! the generator's limit; what no machine can do is asserted.

use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn search(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.arg("search").args(options).stdin(Stdio::null());
    command
}

fn results(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The status tells whether there is an answer.
fn assert_status(output: &Output, results: &Value) {
    let conclusion = results["conclusion"]["result"].as_str().unwrap();
    let has_answer = ["found", "all-kept"].contains(&conclusion);
    assert_eq!(output.status.code(), Some(if has_answer { 0 } else { 3 }), "{output:?}");
}

#[test]
fn no_more_is_found_than_connections_can_carry() {
    let folder = TempDir::new().unwrap();
    let svg = folder.path().join("rates.svg");
    let limits = ["--target-latency", "10ms", "-c", "8", "--until", "p90 response < 30ms"];
    let steps = ["--from", "400", "--step", "500ms", "--settle", "100ms", "--max-steps", "20"];
    let files = ["--json", "-", "--svg", svg.to_str().unwrap()];
    let output = search(&[&limits[..], &steps, &files].concat()).output().unwrap();
    let results = results(&output);
    assert_status(&output, &results);
    // Eight answers in 10 ms make 800/s; eight more are on their way at the end of a step of half a
    // second, and one request in a hundred may be missing.
    let most = (800.0 + 8.0 / 0.5) / 0.99;
    let steps = results["steps"].as_array().unwrap();
    for step in steps {
        let is_kept = step["outcome"] == "kept";
        assert!(!is_kept || step["target_rate"].as_f64().unwrap() <= most, "{step}");
        assert_eq!(is_kept, step["missed"].as_array().unwrap().is_empty(), "{step}");
        assert_eq!(is_kept, step["cause"].is_null(), "{step}");
    }
    if results["conclusion"]["result"] == "found" {
        let rate = |name: &str| results["conclusion"][name].as_f64().unwrap();
        assert!(
            rate("kept") < rate("broken") && rate("broken") <= rate("kept") * 1.05,
            "{results}"
        );
    }
    // The report has a line for each step, and the answer.
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(report.contains(results["answer"].as_str().unwrap()), "{report}");
    let last = format!("\n{:>4} ", steps.len());
    assert!(report.contains(&last) && report.contains("answer    "), "{report}");
    let picture = fs::read_to_string(svg).unwrap();
    Document::parse(&picture).unwrap_or_else(|error| panic!("{error}: {picture}"));
}

#[test]
fn what_no_rate_keeps_is_status_3() {
    let options = ["--target-latency", "30ms", "--until", "p50 response < 10ms", "--json", "-"];
    let steps = ["--from", "100", "--min", "50", "--step", "100ms", "--settle", "0s"];
    let output = search(&[&options[..], &steps].concat()).output().unwrap();
    let results = results(&output);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_status(&output, &results);
    let steps = results["steps"].as_array().unwrap();
    let rates: Vec<_> = steps.iter().map(|step| step["target_rate"].as_f64().unwrap()).collect();
    assert!(rates.iter().all(|rate| [100.0, 50.0].contains(rate)) && rates.contains(&50.0));
}

#[test]
fn failures_break_every_promise() {
    let options = ["--target-errors", "50%", "--until", "p50 response < 10s", "--json", "-"];
    let steps = ["--from", "200", "--min", "200", "--step", "500ms", "--settle", "0s"];
    let output = search(&[&options[..], &steps].concat()).output().unwrap();
    let results = results(&output);
    assert_eq!(results["conclusion"]["result"], "none-kept", "{results}");
    assert_eq!(results["cause"], "errors", "{results}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_search_has_bounds() {
    let promise = ["--until", "p50 response < 10s", "--step", "200ms", "--settle", "0s"];
    for (bounds, ended) in [
        (&["--max-steps", "2"][..], "steps"),
        (&["--for", "500ms"], "time"),
        (&["--max", "100"], ""),
    ] {
        let output = search(&[&promise[..], bounds, &["--json", "-"]].concat()).output().unwrap();
        let results = results(&output);
        assert_status(&output, &results);
        let told = results["ended"].as_str().unwrap();
        assert!(told == ended || ended.is_empty() && told == "complete", "{bounds:?}: {results}");
        let steps = results["steps"].as_array().unwrap();
        assert!(bounds[0] != "--max-steps" || steps.len() == 2, "{results}");
        let highest = |step: &Value| step["target_rate"].as_f64().unwrap() <= 100.0;
        assert!(bounds[0] != "--max" || steps.iter().all(highest), "{results}");
    }
}

#[test]
fn what_cannot_be_done_is_one_line_and_status_2() {
    for (options, told) in [
        (&["--until", "p99 response > 5ms"][..], "write for example p99 response < 50ms"),
        (&["--arrivals", "replay:x"], "write even"),
        (&["--max", "1"], "write a lower --from"),
        (&["--for", "1s"], "--for: the first step takes 10.5s"),
        (&["--url", "http://127.0.0.1:1/"], "refused"),
        (&["--url", "http://127.0.0.1:1/", "--target-latency", "1ms"], "cannot be used with"),
        (&["--json", "/nonexistent/file"], "/nonexistent/file"),
        (&["--svg", "/nonexistent/file"], "/nonexistent/file"),
        (&["--rate", "5"], "--rate"),
    ] {
        let output = search(options).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{options:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{options:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{options:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_search_with_its_report() {
    use rustix::process::{Pid, Signal, kill_process};
    let options = ["--until", "p50 response < 10s", "--step", "200ms", "--settle", "0s"];
    let mut child = search(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The title, and the first step.
    for _ in 0..2 {
        lines.next().unwrap().unwrap();
    }
    let id = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{report} {rest:?}");
    assert!(report.contains("answer    So far ") && report.contains("; interrupted"), "{report}");
}
