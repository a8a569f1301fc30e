//! Tests the exit status, the output and the files of runs.

use crate::command::{nanopace, object, scratch, signal};
use crate::intervals::{decode, histograms};
use crate::running::{command_at_work, file, only_line, output, results, side_by_side};
use crate::server::server;
use crate::sums::assert_adds_up;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use nanopace_services::{assert_unless_busy, watched};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn an_invalid_run_prints_one_line_and_has_status_2() {
    for (line, told) in [
        ("run --rate 0", "--rate"),
        ("run --rate nan", "--rate"),
        ("run --rate -5", "'-5' for '--rate <RATE>': a rate cannot be negative: write a positive"),
        ("--rate -5k/s --requests 1", "'-5k/s' for '--rate <RATE>': a rate cannot be negative"),
        ("run -c -5", "'-5' for '--connections <COUNT>'"),
        ("run --duration -5s", "'-5s' for '--duration <TIME>': it must be longer than zero"),
        ("search --from -5", "'-5' for '--from <RATE>': a rate cannot be negative"),
        ("plan --rate -0.5/h", "a rate cannot be negative"),
        ("fleet rate checkout -5/s", "'-5/s' for '<RATE>': a rate cannot be negative"),
        ("run --connections 0", "--connections"),
        ("run --nonsense", "--nonsense"),
        ("nonsense", "nonsense"),
        ("http://127.0.0.1:1/ http://127.0.0.1:2/", "cannot be used multiple times"),
        ("http://127.0.0.1:1/ extra", "unexpected argument 'extra': a command comes first"),
        ("run --json /nonexistent/file", "/nonexistent/file"),
        ("run --hdr /nonexistent/file", "/nonexistent/file"),
        ("run --url localhost:1", "http://"),
        ("run --url ftp://localhost/", "http://"),
        ("run --url http:///path", "URL"),
        ("run --url http://127.0.0.1:84337/", "port"),
        ("run --skip-later-than 0s", "longer than zero"),
        ("run --json same --hdr same", "same file"),
        ("run --hdr -", "needs a file"),
        ("run --html -", "needs a file"),
        ("run --csv same --html ./same", "same file"),
        ("run --json - --csv -", "same file"),
        ("run --html /dev/stdout", "needs a file"),
        ("run --html /nonexistent/file", "/nonexistent/file"),
        ("run --csv /nonexistent/file", "/nonexistent/file"),
        ("run --targets Cargo.toml --html Cargo.toml", "--targets reads this file"),
        ("run --body-file Cargo.toml --csv ./Cargo.toml", "--body-file reads this file"),
        ("run --proxy http://localhost/", "write http://HOST:PORT"),
        ("run --proxy localhost:1 --http2 --url http://127.0.0.1:1/", "only with TLS"),
        (
            "run --proxy localhost:1 --resolve a:1:127.0.0.1",
            "--resolve a:1: the proxy resolves this host",
        ),
        (
            "run --proxy u:p@127.0.0.1:1 -H Proxy-Authorization:x",
            "a user of --proxy and a header proxy-authorization are both given: leave one of them out",
        ),
        ("run --cacert /nonexistent/file --url https://127.0.0.1:1/", "/nonexistent/file"),
        ("run --body-file /nonexistent/file", "/nonexistent/file"),
    ] {
        assert_refused(line, told, 2);
    }
}

#[test]
fn a_server_out_of_reach_is_one_line_and_status_5() {
    for (line, told) in [
        ("run --proxy no-such-host.invalid:1", "--proxy: cannot resolve"),
        (
            "run --proxy 127.0.0.1:1 --url http://h.invalid/",
            "no response from http://h.invalid/ through the proxy 127.0.0.1:1: connection refused",
        ),
        ("run --proxy a.invalid:1 --resolve A.invalid:1:127.0.0.1", "connection refused"),
        (
            "run --unix-socket /nonexistent/socket --url http://localhost/",
            "/nonexistent/socket: no such socket",
        ),
        ("run --url http://127.0.0.1:1/", "refused"),
        ("run --url http://no-such-host.invalid/", "no-such-host"),
        ("search --url http://127.0.0.1:1/", "refused"),
    ] {
        assert_refused(line, told, 5);
    }
}

fn assert_refused(line: &str, told: &str, status: i32) {
    let stderr = only_line(output(line), status);
    assert!(stderr.starts_with("error: ") && stderr.contains(told), "{line}: {stderr}");
}

#[test]
fn a_host_that_cannot_be_resolved_is_out_of_reach_wherever_it_is_named() {
    let targets = file("unresolved.txt", "GET http://host.invalid/\n");
    let scenario =
        "[[scenario]]\nname = 'a'\n[[scenario.step]]\nname = 'b'\nurl = 'http://host.invalid/'\n";
    let scenario = file("unresolved.toml", scenario);
    let har = r#"{"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"method": "GET", "url": "http://host.invalid/", "headers": []}}]}}"#;
    let har = file("unresolved.har", har);
    for options in [
        format!("run --targets {targets}"),
        format!("search --targets {targets} --until \"p99 response < 1s\""),
        format!("run --scenario {scenario}"),
        format!("run --har {har}"),
        "run --url http://host.invalid/".to_owned(),
        "run --url http://127.0.0.1:1/ --proxy host.invalid:1".to_owned(),
        "run --url http://127.0.0.1:1/".to_owned(),
        "run --url http://127.0.0.1:1/ --unix-socket /nonexistent/socket".to_owned(),
    ] {
        assert_refused(&options, "", 5);
    }
    let wrong = file("wrong.txt", "GET http://127.0.0.1:1/\nGET\n");
    assert_refused(&format!("run --targets {wrong}"), "line 2 column", 2);
}

#[test]
fn a_server_that_never_responds_is_found_before_the_load() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let output =
        output(&format!("run --timeout 50ms --url http://{}/", listener.local_addr().unwrap()));
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8(output.stderr).unwrap().contains("timeout"));
}

#[test]
fn the_json_object_has_the_promised_names_and_no_others() {
    let names =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let results = results("run --rate 200 --requests 10");
    assert_eq!(
        names(&results),
        "achieved_rate bytes_read bytes_written checks completed confidence_95 connect_time_ns due duration_seconds ended_early errors \
         failed failures gaps histograms incomplete lateness ledger machine missed processor rate_over_time ratio resolve_time_ns \
         response_time_ns response_times_at_least retried service_time_ns set_up_time_ns settings skipped \
         spectrum spun_ns start started statuses target_rate tls_time_ns unfinished unstarted url verdict \
         version wait_time_ns warnings"
    );
    for times in ["wait_time_ns", "service_time_ns", "response_time_ns"] {
        assert_eq!(names(&results[times]), "count max mean p50 p90 p99 p99_9 p99_99");
        assert_eq!(names(&results["confidence_95"][times]), "p50 p90 p99 p99_9 p99_99");
    }
    assert_eq!(
        names(&results["rate_over_time"][0]),
        "achieved_rate asked backlog_seconds backlog_slots by_intended_start completed failed \
         from_seconds response_time_ns service_time_ns started target_rate to_seconds wait_time_ns"
    );
    assert_eq!(
        names(&results["rate_over_time"][0]["by_intended_start"]),
        "completed due failed failures response_time_ns response_times_at_least unfinished \
         unstarted wait_time_ns"
    );
    assert_eq!(names(&results["rate_over_time"][0]["wait_time_ns"]), "max p50 p90 p99");
    assert_eq!(names(&results["spectrum"]), "response_time_ns service_time_ns");
    assert_eq!(names(&results["spectrum"]["service_time_ns"][0]), "ns quantile");
    assert_eq!(names(&results["histograms"]), "all batches");
    assert_eq!(names(&results["histograms"]["all"]), "lower_bounds response service");
    assert_eq!(
        names(&results["histograms"]["batches"][0]),
        "failed from_seconds lower_bounds response service started to_seconds"
    );
    assert_eq!(names(&results["machine"]), "cores processor system");
    assert_eq!(names(&results["gaps"]), "coefficient_of_variation within_25_percent");
    assert_eq!(names(&results["ledger"]), "allocated_ns backlog_ns elapsed_ns idle_ns waiting_ns");
    let verdicts =
        ["on-schedule", "target-behind", "generator-behind", "both-behind", "target-failing"];
    assert!(verdicts.contains(&results["verdict"].as_str().unwrap()), "{results}");
    assert_eq!(results["target_rate"], 200.0);
}

#[test]
fn the_same_object_goes_to_a_file_and_the_report_to_standard_output() {
    let path = scratch("results.json");
    let output = nanopace("run --rate 200 --requests 5 -v --json").arg(&path).output().unwrap();
    let results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(results["started"], 5);
    let report = String::from_utf8(output.stdout).unwrap();
    for part in
        ["wait", "service", "response", "uncorrected", "corrected", "ledger", "gaps", "p99.99"]
    {
        assert!(report.contains(part), "{part} is not in {report}");
    }
}

#[test]
fn a_report_is_brief_unless_everything_or_the_headline_alone_is_wanted() {
    let lines = |options: &str| {
        let output = output(&format!("run --rate 200 --requests 5 {options}"));
        let report = String::from_utf8(output.stdout).unwrap();
        report.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let [brief, all, headline] = ["", "-v", "--quiet"].map(lines);
    assert!((5..=16).contains(&brief.len()) && all.len() > 16, "{brief:#?} {all:#?}");
    assert_eq!(headline.len(), 1, "{headline:#?}");
    let progress = output("run --rate 200 --requests 5 --quiet").stderr;
    assert!(progress.is_empty(), "{}", String::from_utf8_lossy(&progress));
    assert_eq!(output("run --quiet -v --requests 1").status.code(), Some(2));
}

#[test]
fn the_first_line_names_a_rate_that_nobody_chose() {
    let (address, _asked) = server();
    let first = |options: &str| {
        let output = output(&format!("run --url http://{address} -n 5 {options}"));
        String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
    };
    let line = first("");
    assert!(line.starts_with("Default rate of 50/s: ") && line.contains("--rate"), "{line}");
    assert_eq!(first("--shard 1/2"), line);
    assert!(!first("--rate 100").contains("Default"));
}

#[test]
fn a_run_that_spun_reports_for_how_long() {
    let path = scratch("spun.json");
    for rate in ["2k/s", "100k/s"] {
        let command = format!("run --rate {rate} --duration 300ms -v --json");
        let output = nanopace(&command).arg(&path).output().unwrap();
        let results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let has_spun = results["spun_ns"].as_u64().unwrap() > 0;
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(report.contains("of a core, all threads together"), has_spun, "{report}");
    }
}

#[test]
fn a_missed_requirement_is_named_with_status_3() {
    let behind = "run --rate 1k/s -c 2 --target-latency 100ms --duration 500ms";
    let (results, machine) = watched(|| results(behind));
    assert_unless_busy(results["verdict"] == "target-behind", machine, &results);
    for (option, missed) in [
        ("--fail-below=0.99", "ratio is "),
        ("--fail-if=ratio>0.99", "ratio is "),
        ("--require=p99 response<50ms", "p99 response is "),
        ("--fail-if=unstarted=0", "unstarted is "),
        ("--fail-if=confidence p99<5%", "confidence p99 response is unknown (too few requests for"),
    ] {
        let output = nanopace(behind).arg(option).output().unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{option}: {report}");
        assert!(report.contains(&format!("missed    {missed}")), "{option}: {report}");
    }
}

#[test]
fn a_lost_requirement_ends_the_run_with_status_3() {
    let line = "run --rate 100/s --duration 1h --target-errors 100% --fail-fast";
    let output = nanopace(line).args(["--fail-if", "failed < 3"]).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{report}");
    assert!(
        report
            .starts_with("Ended early by --fail-fast: failed < 3 could not be met any more after "),
        "{report}"
    );
    assert!(report.contains("missed    failed is "), "{report}");
}

#[test]
fn a_load_with_half_of_its_slots_missing_has_status_4() {
    let behind = "run --rate 1k/s -c 2 --target-latency 100ms --duration 500ms";
    for (requirement, status) in [
        ("mean service>=100ms", 4),
        // A requirement about the amount of load replaces status 4 by status 0 or 3.
        ("unstarted<=500", 0),
        ("ratio>0.001", 0),
        ("unstarted=0", 3),
        ("p99 response<50ms", 3),
    ] {
        let output = nanopace(behind).arg(format!("--fail-if={requirement}")).output().unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{requirement}: {report}");
        let told = report.contains("ncomplete: ");
        let is_about_times = requirement.contains("ms");
        assert_eq!(told, is_about_times, "{requirement}: {report}");
    }
}

#[test]
fn requests_without_a_response_do_not_count_as_fast() {
    // A tenth of the slots are due during the stall. Those that do not start are at most 100 ms old when the run ends.
    let line = "run --rate 400 --duration 1s -c 2 --timeout 30s --target-stall 2s@900ms";
    let output = nanopace(line).arg("--fail-if=p99 response<10s").output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{report}");
    assert!(report.contains("missed    p99 response is >="), "{report}");
    assert!(report.contains("times are lower bounds), wanted < 10s"), "{report}");
}

#[test]
fn a_failing_target_is_a_warning_unless_errors_are_limited() {
    // The timeout is long enough for the probe, which gets a response.
    let failing = "run --rate 100 --requests 5 --timeout 1s --target-stall 1min@0s";
    for (requirement, status) in [(None, 0), (Some("--fail-if=errors<=1%"), 3)] {
        let output = nanopace(failing).args(requirement).output().unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{report}");
        assert!(
            report.contains("errors    timeout: 5\n") && report.contains("target is failing"),
            "{report}"
        );
    }
    let allowed = nanopace(failing).arg("--fail-if=errors<=100%").output().unwrap();
    assert_eq!(allowed.status.code(), Some(0), "{allowed:?}");
}

#[test]
fn every_slot_that_was_due_is_counted_once() {
    let runs = [
        ("run --rate 200k/s --duration 400ms", 80_000),
        ("run --rate 1k/s --duration 400ms --target-latency 5ms -c 2 --skip-later-than 20ms", 400),
        ("run --rate 1k/s --duration 400ms --warmup 200ms --target-latency 5ms -c 2", 400),
        ("run --rate 250/s --duration 1600ms --timeout 400ms --target-stall 4s@800ms -c 4", 400),
    ];
    side_by_side(runs, |(line, due)| {
        let results = results(line);
        assert_adds_up(&results);
        assert_eq!(results["due"], due, "{line}: {results}");
    });
}

#[test]
fn a_run_without_a_slot_is_on_schedule() {
    let results = results("run --rate 1/h --duration 100ms --warmup 100ms");
    assert_adds_up(&results);
    assert_eq!((&results["due"], &results["verdict"]), (&0.into(), &"on-schedule".into()));
}

#[test]
fn a_url_needs_no_path() {
    let results = results("run --rate 1k/s --requests 2");
    let url = results["url"].as_str().unwrap().trim_end_matches('/').to_owned();
    let error = output(&format!("run --url {url}?x=1 --rate 1k/s --requests 2"));
    assert!(String::from_utf8_lossy(&error.stderr).contains("/?x=1: connection refused"));
}

#[test]
fn a_closed_standard_output_is_an_error() {
    for (line, status, told) in [
        ("run --rate 200 --requests 5", 1, "error: cannot write the report: Broken pipe"),
        ("run --rate 200 --requests 5 --json -", 1, "error: cannot write --json: Broken pipe"),
        ("run --print-config", 1, "error: Broken pipe"),
        ("--help", 0, ""),
    ] {
        let mut child =
            nanopace(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}: {stderr}");
        assert!(stderr.contains(told) && !stderr.contains("panicked"), "{line}: {stderr}");
    }
}

#[test]
fn the_interval_log_holds_every_operation_and_its_maxima_in_milliseconds() {
    let path = scratch("intervals.hlog");
    assert!(nanopace("run --rate 300 --requests 360 --hdr").arg(&path).status().unwrap().success());
    let log = fs::read(&path).unwrap();
    assert!(log.starts_with(b"#[Histogram log format version 1.3]\n"));
    for tag in ["wait", "service", "response"] {
        let counts: Vec<u64> = histograms(&log, tag).iter().map(Histogram::len).collect();
        // The last request starts at about 1.2 s, and an interval is 1 s long.
        assert!(counts.len() >= 2 && counts.iter().sum::<u64>() == 360, "{tag}: {counts:?}");
    }
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let largest = Duration::from_nanos(decode(interval.encoded_histogram()).max());
            let told = Duration::from_secs_f64(interval.max() / 1e3);
            // The tolerance is the last written digit.
            assert!(told.abs_diff(largest) <= Duration::from_micros(1), "{told:?}, {largest:?}");
        }
    }
}

fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<_> = lines.next().unwrap().collect();
    lines.map(|line| names.iter().cloned().zip(line).collect()).collect()
}

#[test]
fn the_lines_of_all_seconds_add_up() {
    let (json, log) = (scratch("csv.json"), scratch("seconds.csv"));
    let files = format!("--json {} --csv {}", json.display(), log.display());
    let told = output(&format!(
        "run --rate 500 --duration 2500ms --warmup 500ms --target-errors 10% --timeout 5s {files}"
    ));
    let results: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let log = csv(&fs::read_to_string(&log).unwrap());
    let sum = |name: &str| log.iter().map(|line| line[name].parse::<f64>().unwrap()).sum::<f64>();
    for name in ["started", "completed", "failed"] {
        let count = results[name].as_f64().unwrap();
        assert!((sum(name) - count).abs() < 0.5, "{name}: {told:?}");
    }
    let asked = results["target_rate"].as_f64().unwrap() * 2.5;
    assert!((sum("asked") - asked).abs() < 0.1, "{asked}: {log:?}");
    assert_eq!(log[0]["from_seconds"], "0.500000");
    assert!(log.windows(2).all(|pair| pair[0]["to_seconds"] == pair[1]["from_seconds"]), "{log:?}");
}

#[test]
fn a_log_on_standard_output_contains_nothing_else() {
    let output = output("run --rate 500 --duration 1s --csv -");
    let log = csv(std::str::from_utf8(&output.stdout).unwrap());
    assert!(!log.is_empty() && log.iter().all(|line| line.len() == 20), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(" scheduled: "), "{output:?}");
}

#[test]
fn a_log_is_written_during_the_run() {
    let mut run = nanopace("run --rate 100 --duration 1min --csv -");
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("from_seconds,to_seconds,asked"));
    assert!(lines.next().unwrap().unwrap().starts_with("0.000000,1."));
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_log_whose_reader_stops_does_not_end_the_run() {
    let mut run = nanopace("run --rate 100 --duration 2s --csv -");
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stdout.take());
    let output = run.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains(" scheduled: ") && told.contains("cannot write --csv: Broken pipe"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(1), "{told}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_hangup_does_not_end_a_run_under_nohup() {
    let run = nanopace("run --rate 100/s --requests 250 --json -");
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(run.get_program());
    let (run, mut progress) = command_at_work(shell.args(run.get_args()).stdin(Stdio::null()));
    signal(run.id(), "-HUP");
    progress.errors.read_to_string(&mut String::new()).unwrap();
    assert_eq!(object(&run.wait_with_output().unwrap())["completed"], 250);
}

#[test]
fn a_page_is_written() {
    let page = scratch("page.html");
    let output = output(&format!(
        "run --requests 20 --header Authorization:secret --html {}",
        page.display()
    ));
    let page = fs::read_to_string(&page).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("Authorization: (not shown)") && !page.contains("secret"), "{page}");
    assert!(page.contains(">requests</th>") && !page.contains(">connections</th>"), "{page}");
}
