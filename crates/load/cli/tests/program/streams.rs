//! Tests streamed responses of a server that sends one event after another.

use crate::command::{nanopace, object, scratch};
use crate::running::refusal;
use crate::server::{Asked, serving};
use quick_junit::{Report, TestCaseStatus};
use serde_json::Value;
use std::fs;
use std::io::{BufReader, Write};
use std::process::Command;
use std::thread;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(15);
const EVENTS: u32 = 3;

fn program(args: &[&str]) -> Command {
    let mut command = nanopace("");
    command.args(args);
    command
}

fn run(args: &[&str]) -> (Value, String) {
    let output = program(args).args(["--json", "-"]).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    (object(&output), String::from_utf8(output.stderr).unwrap())
}

/// Starts a server that pauses before each event. If `events` is `None`, its responses never end.
fn server(events: Option<u32>) -> String {
    let address = serving(move |mut stream, connection| {
        stream.set_nodelay(true)?;
        let mut requests = BufReader::new(stream.try_clone()?);
        while Asked::read(&mut requests, connection).is_some() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            let mut sent = 0;
            while events.is_none_or(|events| sent < events) {
                thread::sleep(PAUSE);
                stream.write_all(b"b\r\ndata: one\n\n\r\n8\r\n: ping\n\n\r\n")?;
                sent += 1;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    });
    format!("http://{address}/")
}

#[test]
fn first_items_and_gaps_are_timed() {
    let url = server(Some(EVENTS));
    for warm_up in ["0s", "100ms"] {
        let options = ["--items", "sse", "-n", "20", "--rate", "50/s", "--warmup", warm_up];
        let (results, report) = run(&[&[url.as_str()], &options[..]].concat());
        let mean = |key: &str| results[key]["mean"].as_f64().unwrap();
        let counts = [
            ("first_byte_time_ns", 20),
            ("first_item_time_ns", 20),
            ("first_item_response_time_ns", 20),
            ("item_gap_time_ns", 40),
        ];
        for (key, count) in counts {
            assert_eq!(results[key]["count"], count, "{key}: {results}");
        }
        assert_eq!(results["items"], 60, "{results}");
        let last = mean("first_item_time_ns") + 2.0 * mean("item_gap_time_ns");
        let pauses = (PAUSE * EVENTS).as_secs_f64() * 1e9;
        assert!(last >= 0.99 * pauses && last <= 1.01 * mean("service_time_ns"), "{results}");
        assert!(mean("first_byte_time_ns") <= 1.01 * mean("first_item_time_ns"), "{results}");
        let [item, response] = ["first_item_time_ns", "first_item_response_time_ns"].map(mean);
        assert!(
            item <= 1.01 * response && response <= 1.01 * mean("response_time_ns"),
            "{results}"
        );
        assert!(report.contains("  first byte  first item   since due   item gaps"), "{report}");
    }
}

#[test]
fn a_requirement_can_limit_item_times() {
    let url = server(Some(EVENTS));
    let junit = scratch("items.xml");
    let status = |options: &[&str]| {
        let mut command = program(&["run", "--url", &url, "--rate", "50/s", "-n", "10"]);
        command.arg("--junit").arg(&junit).args(options).output().unwrap().status.code()
    };
    let well = ["--fail-if", "p99 first item < 1h", "--fail-if", "max item-gap < 1h"];
    assert_eq!(status(&[&["--items", "sse"], &well[..]].concat()), Some(0));
    let missed = ["--items", "sse", "--fail-if", "p50 first-item < 15ms"];
    assert_eq!(status(&missed), Some(3));
    let report = Report::deserialize_from_str(&fs::read_to_string(&junit).unwrap()).unwrap();
    let mut cases = report.test_suites[0].test_cases.iter();
    let failed = cases.find(|case| case.name.as_str() == "p50 first-item < 15ms").unwrap();
    let TestCaseStatus::NonSuccess { message: Some(told), .. } = &failed.status else {
        panic!("{failed:?}")
    };
    assert!(told.starts_with("p50 first-item is "), "{told:?}");
    let steps = ["--items", "sse", "--from", "50/s", "--max-steps", "1", "--step", "200ms"];
    let search = ["search", "--url", &url, "--json", "-", "--until", "p50 item-gap < 15ms"];
    let output = program(&[&search, &steps[..]].concat()).output().unwrap();
    let results = object(&output);
    let is_told = |told: &Value| {
        let told = told.as_str().unwrap();
        told.starts_with("p50 item-gap is ") && told.ends_with(", wanted < 15ms")
    };
    assert!(results["steps"][0]["missed"].as_array().unwrap().iter().any(is_told), "{results}");
}

#[test]
fn a_requirement_for_times_that_are_not_measured_is_rejected() {
    for options in
        [["run", "--fail-if", "p99 first-item < 1s"], ["search", "--until", "p99 first-item < 1s"]]
    {
        let told = refusal(program(&options).output().unwrap());
        let advice = "p99 first-item < 1s: these times are not measured; write --items sse";
        assert!(told.contains(advice), "{told}");
    }
}

#[test]
fn a_requirement_for_a_label_that_no_request_can_have_is_rejected() {
    let url = server(Some(EVENTS));
    let run = |label: &str| {
        let requirement = format!("failed of \"{label}\" = 0");
        let load = ["run", "--url", &url, "-n", "1", "--no-tui", "--fail-if", &requirement];
        program(&load).output().unwrap()
    };
    let told = refusal(run("GET /ordr 200"));
    assert!(told.contains("no operation can have this label; -v lists the labels"), "{told}");
    for label in [format!("GET {url} 503"), format!("GET {url} without an answer")] {
        assert_eq!(run(&label).status.code(), Some(3), "{label}");
    }
}

#[test]
fn lines_are_items_over_http2_as_well() {
    for options in [
        &["--http2"][..],
        &[],
        #[cfg(feature = "target-tls")]
        &["--http2", "--target-tls"],
    ] {
        let few = ["--items", "lines", "-n", "12", "--rate", "1k/s"];
        let (results, _) = run(&[&few, options].concat());
        let counts = ["first_byte_time_ns", "first_item_time_ns", "item_gap_time_ns"];
        let counts = counts.map(|key| results[key]["count"].as_u64().unwrap());
        assert_eq!((counts, &results["items"]), ([12, 12, 0], &12.into()), "{results}");
    }
    let (none, report) = run(&["--items", "sse", "-n", "12", "--rate", "1k/s", "-v"]);
    assert_eq!(none["items"], 0, "{none}");
    assert!(report.contains("\nitems     0: "), "{report}");
    let (without, _) = run(&["-n", "12", "--rate", "1k/s"]);
    assert!(without["first_byte_time_ns"].is_null() && without["items"].is_null(), "{without}");
}

/// The check before the run accepts a target whose responses never end.
#[cfg(unix)]
#[test]
fn the_items_of_an_endless_response_are_timed() {
    use crate::command::signal;
    use crate::running::at_work;
    use std::io::{BufRead, Read};
    let url = server(None);
    let load = "--items sse --rate 100/s -n 4 -c 4 --timeout 10min --json -";
    let (child, mut progress) = at_work(&format!("{url} {load}"));
    signal(child.id(), "-INT");
    progress.errors.read_line(&mut progress.said).unwrap();
    signal(child.id(), "-INT");
    let mut report = String::new();
    progress.errors.read_to_string(&mut report).unwrap();
    let results = object(&child.wait_with_output().unwrap());
    assert_eq!((&results["started"], &results["unfinished"]), (&4.into(), &4.into()), "{results}");
    for key in ["first_byte_time_ns", "first_item_time_ns", "first_item_response_time_ns"] {
        assert_eq!(results[key]["count"], 4, "{key}: {results}");
    }
    let gaps = results["item_gap_time_ns"]["count"].as_u64().unwrap();
    assert!(gaps >= 4 && results["items"] == gaps + 4, "{results}");
    assert!(report.contains("4 given up") && report.contains("first item"), "{report}");
}
