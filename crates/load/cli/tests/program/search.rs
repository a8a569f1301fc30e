//! Tests `nanopace search`, by properties that hold even if a busy machine lowers the result or is the limit.

use crate::command::{nanopace, object};
use crate::running::refusal;
use crate::server::{Asked, serving};
use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tempfile::TempDir;

fn search(options: &str) -> (Output, Value) {
    let output = nanopace(&format!("search --json - {options}")).output().unwrap();
    let results = object(&output);
    (output, results)
}

fn assert_status(output: &Output, results: &Value) {
    let conclusion = &results["conclusion"];
    let is_known = |name: &str| conclusion[name].is_number();
    let status = match conclusion["result"].as_str().unwrap() {
        "found" | "all-kept" => 0,
        "none-kept" => 3,
        "unfinished" if is_known("kept") => 0,
        "unfinished" if is_known("missed") => 3,
        _ => 4,
    };
    assert_eq!(output.status.code(), Some(status), "{output:?}");
}

#[test]
fn the_result_is_at_most_what_connections_can_carry() {
    let folder = TempDir::new().unwrap();
    let svg = folder.path().join("rates.svg");
    let limits = "--target-latency 10ms -c 8 --until \"p90 response < 30ms\"";
    let steps = "--from 400 --step 500ms --settle 100ms --max-steps 20";
    let (output, results) = search(&format!("{limits} {steps} --svg {}", svg.display()));
    assert_status(&output, &results);
    // With a response time of 10 ms, eight connections reach 800/s. Eight more requests are in flight at the end of a
    // step of half a second, and one request in a hundred may be missing.
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
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(report.contains(results["answer"].as_str().unwrap()), "{report}");
    let last = format!("\n{:>4} ", steps.len());
    assert!(report.contains(&last) && report.contains("answer    "), "{report}");
    let picture = fs::read_to_string(svg).unwrap();
    Document::parse(&picture).unwrap_or_else(|error| panic!("{error}: {picture}"));
}

#[test]
fn an_objective_that_no_rate_meets_has_status_3() {
    // Waits of up to a tenth of the latency do not make the generator late, so a busy machine does not matter.
    let options = "--target-latency 600ms -c 100 --until \"p50 response < 10ms\"";
    let steps = "--from 100 --min 50 --step 100ms --settle 0s";
    let (output, results) = search(&format!("{options} {steps}"));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_status(&output, &results);
    let steps = results["steps"].as_array().unwrap();
    let rates: Vec<_> = steps.iter().map(|step| step["target_rate"].as_f64().unwrap()).collect();
    assert!(rates.contains(&50.0), "{output:?}");
    // If the generator was the limit at 50/s, the search tries higher rates.
    let is_known = results["conclusion"]["result"] == "none-kept";
    let asked = |&rate: &f64| {
        if is_known { [100.0, 50.0].contains(&rate) } else { (50.0..=100.0).contains(&rate) }
    };
    assert!(rates.iter().all(asked), "{output:?}");
}

#[test]
fn failures_miss_every_objective() {
    let options = "--target-errors 50% --until \"p50 response < 10s\"";
    let steps = "--from 200 --min 200 --step 500ms --settle 0s";
    let (output, results) = search(&format!("{options} {steps}"));
    assert_eq!(results["conclusion"]["result"], "none-kept", "{results}");
    assert_eq!(results["cause"], "errors", "{results}");
    assert_eq!(output.status.code(), Some(3));
}

/// A step whose generator is late does not end early, because the lateness may reveal nothing about the target. In such
/// a step, the p99 wait time exceeds 10 ms.
#[test]
fn a_step_ends_once_too_many_requests_have_failed() {
    let options = "--target-errors 50% --until \"p50 response < 10s\" --until \"failed < 20\"";
    let steps = "--from 200 --min 200 --step 20s --settle 0s --max-steps 2";
    let (_, results) = search(&format!("{options} {steps}"));
    let steps = results["steps"].as_array().unwrap();
    for step in steps {
        let is_whole = step["response_time_ns"]["count"] == 4000;
        let is_late = step["wait_time_ns"]["max"].as_u64() > Some(10_000_000);
        let failed = step["failures"]["status 500"].as_u64();
        assert!(failed >= Some(20) && (!is_whole || is_late), "{step}");
    }
    if !steps.iter().any(was_held_up) {
        assert_eq!(results["conclusion"]["result"], "none-kept", "{results}");
    }
}

/// Starts a server. `status` maps the number of earlier requests and the number of open connections to a status.
fn server(status: impl Fn(usize, usize) -> u16 + Send + Sync + 'static) -> String {
    let (requests, open) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let address = serving(move |mut stream, connection| {
        open.fetch_add(1, Ordering::SeqCst);
        let mut reader = BufReader::new(stream.try_clone()?);
        while Asked::read(&mut reader, connection).is_some() {
            let number = requests.fetch_add(1, Ordering::SeqCst);
            let status = status(number, open.load(Ordering::SeqCst));
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes())?;
        }
        open.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    });
    format!("http://{address}/")
}

const QUICK: &str = "--from 400 --step 300ms --settle 100ms -c 4 --until \"p50 response < 10s\"";

fn was_held_up(step: &Value) -> bool {
    step["cause"] == "generator"
}

fn assert_failing(options: &str, told: &str) -> Value {
    let (output, results) = search(&format!("{QUICK} {options}"));
    assert_eq!(results["ended"], "target-failing", "{results}");
    assert_eq!((&results["failure"], output.status.code()), (&told.into(), Some(3)), "{results}");
    let answer = results["answer"].as_str().unwrap();
    assert!(answer.starts_with(&format!("The target fails even a single request: {told}.")));
    assert!(!answer.contains("was tried"), "{answer}");
    // All requests failed only in the last step. If the machine stalled, a step may have no requests.
    let (last, others) = results["steps"].as_array().unwrap().split_last().unwrap();
    if !was_held_up(last) {
        assert_eq!(last["errors"], 1.0, "{results}");
        assert!(last["failures"][told].as_u64() > Some(0), "{last}");
        let report = String::from_utf8(output.stderr).unwrap();
        assert!(report.contains(&format!("Most often: {told}.")), "{report}");
    }
    assert!(others.iter().all(|step| step["errors"].as_f64() < Some(1.0)), "{results}");
    results
}

#[test]
fn a_target_that_fails_all_requests_ends_the_search() {
    let results = assert_failing("--target-errors 100%", "status 500");
    let steps = results["steps"].as_array().unwrap();
    assert!(steps.iter().filter(|step| !was_held_up(step)).count() <= 1, "{results}");
    let url = server(|requests, _| if requests < 700 { 200 } else { 503 });
    assert_failing(&format!("--url {url}"), "status 503");
}

/// Once the server stops responding, all connections wait, and requests may not even start.
#[test]
fn a_target_that_falls_silent_ends_the_search() {
    let silence = || loop {
        thread::park();
    };
    let url = server(move |requests, _| if requests < 300 { 200 } else { silence() });
    let (_, results) = search(&format!("{QUICK} --url {url} --timeout 1s"));
    assert_eq!(results["ended"], "target-failing", "{results}");
    assert_eq!((&results["failure"], &results["cause"]), (&"timeout".into(), &"errors".into()));
    let steps = results["steps"].as_array().unwrap();
    let idle = steps.iter().filter(|step| step["achieved_rate"] == 0.0 && !was_held_up(step));
    assert!(idle.count() <= 1, "{results}");
}

#[test]
fn a_target_that_fails_only_under_load_does_not_end_the_search() {
    let url = server(|_, open| if open == 1 { 200 } else { 503 });
    let (_, results) = search(&format!("{QUICK} --url {url} --min 200"));
    assert_eq!(results["conclusion"]["result"], "none-kept", "{results}");
    assert_eq!((&results["ended"], &results["cause"]), (&"complete".into(), &"errors".into()));
}

#[test]
fn a_search_has_bounds() {
    let promise = "--until \"p50 response < 10s\" --step 200ms --settle 0s";
    for (bounds, ended) in [("--max-steps 2", "steps"), ("--for 500ms", "time"), ("--max 100", "")]
    {
        let (output, results) = search(&format!("{promise} {bounds}"));
        assert_status(&output, &results);
        let told = results["ended"].as_str().unwrap();
        let (answer, is_known) = (&results["answer"], results["conclusion"]["kept"].is_number());
        let is_open = results["conclusion"]["result"] == "unfinished";
        let says_so = answer.as_str().unwrap().contains(" is at least ");
        assert_eq!(says_so, is_open && is_known, "{bounds:?}: {results}");
        assert!(told == ended || ended.is_empty() && told == "complete", "{bounds:?}: {results}");
        let steps = results["steps"].as_array().unwrap();
        assert!(ended != "steps" || steps.len() == 2, "{results}");
        let highest = |step: &Value| step["target_rate"].as_f64().unwrap() <= 100.0;
        assert!(!ended.is_empty() || steps.iter().all(highest), "{results}");
    }
}

#[test]
fn an_invalid_search_prints_one_line_and_has_status_2() {
    for (options, told) in [
        (&["--until", "p99 response > 5ms"][..], "write for example p99 response < 50ms"),
        (&["--arrivals", "replay:x"], "write even"),
        (&["--max", "1"], "write a lower --from"),
        (&["--for", "1s"], "--for: the first step takes 10.5s"),
        (&["--url", "http://127.0.0.1:1/", "--target-latency", "1ms"], "cannot be used with"),
        (&["--json", "/nonexistent/file"], "/nonexistent/file"),
        (&["--svg", "/nonexistent/file"], "/nonexistent/file"),
        (&["--rate", "5"], "--rate"),
    ] {
        let stderr = refusal(nanopace("search").args(options).output().unwrap());
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{options:?}: {stderr}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_search_with_its_report() {
    let mut search = nanopace("search --until \"p50 response < 10s\" --step 200ms --settle 0s");
    let mut child = search.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..2 {
        lines.next().unwrap().unwrap();
    }
    crate::command::signal(child.id(), "-INT");
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(matches!(output.status.code(), Some(3 | 4)), "{report} {rest:?}");
    let is_told = [" is at least ", "answer    So far "].iter().any(|told| report.contains(told));
    assert!(is_told && report.contains("; interrupted"), "{report}");
}
