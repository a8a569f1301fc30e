//! Tests `nanopace run --load`: several loads in one run.

use crate::command::{nanopace, object, signal};
use crate::running::{at_work, file, output_of, refusal};
use crate::server::server;
use crate::steered::Steered;
use crate::sums::assert_adds_up;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

fn two(name: &str, url: &str, [reads, writes]: [&str; 2]) -> [String; 2] {
    let reads = format!("url = 'http://{url}/reads'\n{reads}\n");
    let writes = format!("url = 'http://{url}/writes'\nbody = 'x'\n{writes}\n");
    [("reads", reads), ("writes", writes)]
        .map(|(load, text)| file(&format!("{name}-{load}.toml"), text))
}

#[test]
fn each_load_has_its_requests_and_the_whole_has_all() {
    let (url, asked) = server();
    let options = ["rate = '400/s'\nrequests = 80", "rate = '90/s'\nrequests = 30\nstart = '20ms'"];
    let [reads, writes] = two("counted", &url, options);
    let line = ["--load", &reads, "--load", &writes, "--json", "-", "--threads", "1"];
    let required = [
        "--fail-if=counted-writes: completed = 30",
        "--fail-if=counted-reads: completed = 81",
        "--fail-if=completed = 110",
    ];
    let output = output_of(&[&line[..], &required].concat());
    let whole = object(&output);
    let load = |name: &str| &whole["loads"][name];
    for (results, due, missed) in [
        (load("counted-reads"), 80, json!(["completed is 80, wanted = 81"])),
        (load("counted-writes"), 30, json!([])),
        (&whole, 110, json!(["counted-reads: completed is 80, wanted = 81"])),
    ] {
        assert_adds_up(results);
        assert_eq!((&results["due"], &results["completed"]), (&due.into(), &due.into()));
        assert_eq!(results["missed"], missed, "{whole}");
    }
    assert_eq!(output.status.code(), Some(3));
    let asked: Vec<_> = asked.try_iter().map(|asked| asked.path().to_owned()).collect();
    let count = |path: &str| asked.iter().filter(|asked| *asked == path).count();
    assert_eq!((count("/reads"), count("/writes")), (81, 31));
    let report = String::from_utf8(output.stderr).unwrap();
    let heads = ["load      counted-reads\n", "load      counted-writes\n", "whole     2 loads: "];
    assert!(heads.iter().all(|head| report.contains(head)), "{report}");
}

#[test]
fn a_wrong_run_of_several_loads_gets_one_line() {
    let csv = format!("csv = '{}'", file("good.csv", ""));
    let good = file("good.toml", format!("rate = '9/s'\nrequests = 1\n{csv}\n"));
    for (text, more, told) in [
        ("", "--rate=5", "--rate is an option of one load: write it into the file of the load"),
        ("", "--csv=x", "--csv is an option of one load"),
        ("", "--run=x", "--run with --load: a run of several loads does not support this option"),
        ("", "--fail-if=god: failed = 0", "no load has this name: write one of good, wrong"),
        ("", "--fail-if=p99 slower by 5%", "it needs a figure, a change for the worse"),
        ("", "--load=none.toml", "cannot read none.toml"),
        (&csv, "--pin", "good.csv: two loads write to this file: give each load its own file"),
        ("name = 'good'", "--pin", "two loads have the name \"good\": rename one"),
        ("name = 'a b'", "--pin", "\"a b\" cannot be the name of a load: write another"),
        ("json = 'x'", "--pin", "wrong.toml: json is an option of the whole run"),
        ("load = ['x']", "--pin", "load is an option of the whole run"),
        (
            "fail-fast = true",
            "--pin",
            "a run of several loads does not support this option: leave it out",
        ),
        ("versus = 'http://b/'", "--pin", "--versus in /"),
        ("fleet = 'redis://a/'", "--pin", "--fleet in /"),
        (
            "start = '2'",
            "--pin",
            "wrong.toml line 1: invalid value '2' for start: time unit needed",
        ),
        ("stat = '1s'", "--pin", "wrong.toml line 1: \"stat\" is not an option; write start"),
        ("shape = 'hold 0/s 1s'", "--pin", "load wrong: this load has no requests"),
    ] {
        let wrong = file("wrong.toml", text);
        let told_line = refusal(output_of(&["--load", &good, "--load", &wrong, more]));
        assert!(told_line.contains(told), "{text} {more}: {told_line}");
    }
    for name in ["name", "start"] {
        let config = file("config.toml", format!("{name} = '1s'"));
        let told = refusal(output_of(&["run", "--config", &config]));
        assert!(told.contains("is an option for the files of --load only"), "{told}");
    }
    let told = refusal(output_of(&["run", "--fail-if", "good: failed = 0"]));
    assert!(
        told.contains("only the loads of --load and the sides of --versus have names"),
        "{told}"
    );
}

#[test]
fn a_load_is_steered_by_its_name() {
    let (url, _asked) = server();
    let [reads, writes] = two("steered", &url, ["rate = '50/s'\nduration = '1h'"; 2]);
    let run = Steered::start(&["--load", &reads, "--load", &writes, "--control", "127.0.0.1:0"]);
    let phase = |state: &Value, name: &str| state["loads"][name]["phase"].clone();
    run.wait_until(|state| phase(state, "steered-writes") == "running");
    for (path, body, status) in [
        ("/rate", "70/s", 400),
        ("/rate?load=nobody", "70/s", 404),
        ("/stop?foo=1", "", 400),
        ("/stop?Load=steered-reads", "", 400),
        ("/stop?load=steered-reads&load=steered-writes", "", 400),
        ("/stop?load=steered-reads&foo=1", "", 400),
        ("/rate?load=steered%2dwrites", "70/s", 200),
        ("/pause?load=steered-reads", "", 200),
    ] {
        let method = if body.is_empty() { "POST" } else { "PUT" };
        assert_eq!(run.ask(method, path, &[], body.as_bytes()).status, status, "{path}");
    }
    let state = run.wait_until(|state| phase(state, "steered-reads") == "paused");
    let rates = ["reads", "writes"].map(|name| &state["loads"][format!("steered-{name}")]["rate"]);
    assert_eq!(
        (rates, phase(&state, "steered-writes")),
        ([&json!("50/s"), &json!("70/s")], json!("running"))
    );
    let metrics = run.ask("GET", "/metrics", &[], b"").body;
    for (name, labels) in [("requests_started_total", ""), ("phase", ",phase=\"paused\"")] {
        let samples = metrics.lines().filter(|line| {
            let line = line.strip_prefix("nanopace_").and_then(|line| line.strip_prefix(name));
            line.is_some_and(|line| line.starts_with("{load=\"steered-") && line.contains(labels))
        });
        assert_eq!(samples.count(), 2, "{name}: {metrics}");
        let types = format!("# TYPE nanopace_{name} ");
        assert_eq!(metrics.matches(&types).count(), 1, "{metrics}");
    }
    let (results, _) = run.stop(&[]);
    assert_eq!(results["loads"].as_object().unwrap().len(), 2);
}

#[test]
fn a_pause_holds_a_load_that_has_not_started() {
    let (url, _asked) = server();
    let options =
        ["rate = '50/s'\nduration = '1h'", "rate = '50/s'\nduration = '1h'\nstart = '1s'"];
    let [reads, writes] = two("held", &url, options);
    let run = Steered::start(&["--load", &reads, "--load", &writes, "--control", "127.0.0.1:0"]);
    let is = |state: &Value, phase: &str| {
        ["held-reads", "held-writes"].iter().all(|name| state["loads"][name]["phase"] == phase)
    };
    run.wait_until(|state| state["loads"]["held-reads"]["phase"] == "running");
    let paused = run.ask("POST", "/pause", &[], b"");
    assert!(paused.status == 200 && is(&paused.json(), "paused"), "{paused:?}");
    run.wait_until(|state| state["loads"]["held-writes"]["elapsed_seconds"].is_f64());
    assert!(is(&run.status(), "paused"));
    assert_eq!(run.ask("POST", "/resume", &[], b"").status, 200);
    run.wait_until(|state| is(state, "running"));
    run.stop(&[]);
}

#[test]
fn an_interrupt_ends_all_loads_and_one_that_has_not_started() {
    let (url, _asked) = server();
    let options = ["rate = '50/s'\nduration = '1h'", "start = '1h'"];
    let [reads, writes] = two("ended", &url, options);
    let line = format!("run --load {reads} --load {writes} --json -");
    let (child, _progress) = at_work(&line);
    signal(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let results = object(&output);
    let incomplete = results["incomplete"].as_str().unwrap();
    assert!(incomplete.contains("ended-writes: "), "{incomplete}");
    assert_eq!(results["loads"]["ended-writes"]["verdict"], "not-started");
    assert_eq!(results["duration_seconds"], results["loads"]["ended-reads"]["duration_seconds"]);
}

#[test]
fn the_example_of_the_manual_is_taken() {
    let page = include_str!("../../docs/run/how-to.md");
    let (_, block) = page.split_once("$ cat writes.toml\n").unwrap();
    let (writes, rest) = block.split_once("$ nanopace ").unwrap();
    let (url, asked) = server();
    let short = writes.replace("127.0.0.1:8080", &url).replace("30s", "1ms");
    // The load ends after a number of requests, because with a duration, a busy machine could leave requests unstarted.
    let short = short.replace("duration = \"1min\"", "requests = 100");
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("writes.toml"), short).unwrap();
    let reads = format!("url = 'http://{url}/'\nrequests = 9\n");
    fs::write(folder.path().join("reads.toml"), reads).unwrap();
    // A busy machine could miss a lower limit.
    let line = rest.lines().next().unwrap().replace(" < 50ms", " < 1h");
    let output = nanopace(&line).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(asked.try_iter().filter(|asked| asked.path() == "/items").count(), 101);
    let json = fs::read_to_string(folder.path().join("both.json")).unwrap();
    let results: Value = serde_json::from_str(&json).unwrap();
    assert!(results["loads"]["writes"]["response_time_ns"]["p99"].is_u64(), "{results}");
}
