//! Tests `--start-at`, and `nanopace merge`, which merges the results of processes that shared a load.

use crate::command::{nanopace, object, scratch, signal};
use crate::running::{file, output, refusal};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn parts(test: &str) -> [String; 2] {
    ["0+1/2", "2/2"].map(|shard| {
        let line = format!("run --rate 200/s --requests 100 --shard {shard} --json -");
        let mut part = object(&output(&line));
        part["start"] = "2026-01-31T12:00:00.000Z".into();
        file(&format!("merge-{test}-{}.json", &shard[..1]), part.to_string())
    })
}

#[test]
fn two_parts_are_merged_into_one_result() {
    let [one, two] = parts("whole");
    let page = scratch("merged.html");
    let line = format!("merge {one} {two} --json - --html {}", page.display());
    let merged = output(&format!("{line} -v"));
    let whole = object(&merged);
    assert!([Some(0), Some(4)].contains(&merged.status.code()), "{merged:?}");
    assert_eq!((&whole["due"], &whole["parts"][0]["shard"]), (&200.into(), &"1/2".into()));
    let settings = &whole["settings"];
    assert!(whole["ledger"].is_null() && settings.get("shard").is_none(), "{whole}");
    assert_eq!(
        settings["connections"],
        object(&output("run -n 1 --json -"))["settings"]["connections"]
    );
    let report = String::from_utf8(merged.stderr).unwrap();
    assert!(report.contains(&format!("part      2/2 {two}: 100 started")), "{report}");
    assert!(fs::read_to_string(&page).unwrap().contains("part: 1/2 "));
    let whole = file("merge-whole.json", whole.to_string());
    let same = output(&format!("compare {whole} {whole}"));
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let missed = output(&format!("{line} --quiet --fail-if started>200"));
    assert_eq!(missed.status.code(), Some(3), "{missed:?}");
    for (line, told) in [
        (format!("merge {one}"), "part 2/2 is missing"),
        (format!("merge {one} {whole}"), "is not the result of a part"),
        (
            format!("merge {one} {two} --json {one}"),
            ": merge reads this file: write to another file",
        ),
        ("merge nonexistent.json".to_owned(), "cannot merge nonexistent.json"),
    ] {
        let refused = refusal(output(&line));
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn a_part_that_ended_early_is_named() {
    let [one, two] = parts("early");
    for (duration, is_early) in [("500ms", false), ("1min", true)] {
        for part in [&one, &two] {
            let mut object: Value = serde_json::from_slice(&fs::read(part).unwrap()).unwrap();
            let settings = object["settings"].as_object_mut().unwrap();
            settings.remove("requests");
            settings.insert("duration".to_owned(), duration.into());
            fs::write(part, object.to_string()).unwrap();
        }
        let merged = output(&format!("merge {one} {two} -v"));
        let report = String::from_utf8(merged.stdout).unwrap();
        assert_eq!(report.contains(&format!("{two}: the part ended after")), is_early, "{report}");
    }
}

#[test]
fn a_start_in_the_past_or_in_a_fleet_is_refused() {
    for (options, told) in [
        ("--start-at 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z was "),
        ("--start-at 1700000000", "s ago when the run was ready: write a later time"),
        ("--start-at soon", "write a date with a zone"),
        ("--start-at +10s --run checkout --fleet redis://127.0.0.1/", "cannot be used with"),
    ] {
        let refused = refusal(output(&format!("run {options}")));
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn a_load_starts_at_its_moment_and_not_before() {
    let started = |_| {
        let soon = SystemTime::now() + Duration::from_secs(3);
        let seconds = soon.duration_since(UNIX_EPOCH).unwrap().as_secs();
        let run = output(&format!("run --requests 1 --start-at {seconds} --json -"));
        // On a busy machine, the moment may have passed before the run is ready.
        (run.status.code() != Some(2)).then(|| (seconds, object(&run)))
    };
    let (seconds, run) = (0..5).find_map(started).unwrap();
    let start = |text: &Value| humantime::parse_rfc3339(text.as_str().unwrap()).unwrap();
    let moment = UNIX_EPOCH + Duration::from_secs(seconds);
    assert_eq!(start(&run["start_at"]["moment"]), moment, "{run}");
    assert!(start(&run["start"]) >= moment, "{run}");
    assert!(run["start_at"].get("clock_error_seconds").is_some(), "{run}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_leaves_before_the_start() {
    let mut command = nanopace("run --start-at 2099-01-01T00:00:00Z");
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(
        lines.next().unwrap(),
        "the load starts at 2099-01-01T00:00:00Z; Ctrl-C ends the wait"
    );
    signal(run.id(), "-INT");
    assert_eq!(lines.next().unwrap(), "interrupted before the load started");
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

/// Kubernetes replaces `$(NAME)` with the value of the variable.
#[test]
fn the_options_of_the_example_for_kubernetes_are_right() {
    let manifest = include_str!("../../docs/kubernetes/shards.yaml");
    let arguments = manifest.split("args:").nth(1).unwrap().lines();
    let line: Vec<&str> = arguments.filter_map(|line| line.trim().strip_prefix("- ")).collect();
    let line = line.join(" ").replace("$(JOB_COMPLETION_INDEX)", "3");
    let output = output(&format!("{} --print-config", line.replace("START_AT", "+2min")));
    let config = String::from_utf8(output.stdout).unwrap();
    assert!(config.contains("shard = \"3+1/4\"\n"), "{config}");
    assert!(manifest.contains("completions: 4\n  parallelism: 4\n"), "{config}");
}

/// The logs of a pod also contain what the program writes to standard error, such as one line per second.
#[test]
#[cfg(unix)]
fn the_example_for_kubernetes_finds_the_object_in_the_logs_of_a_pod() {
    let manifest = include_str!("../../docs/kubernetes/shards.yaml");
    let filter = manifest.lines().find(|line| line.ends_with(" >$i.json")).unwrap();
    let filter = filter.trim_start_matches('#').trim_end_matches(">$i.json");
    let program = env!("CARGO_BIN_EXE_nanopace");
    let run = format!("'{program}' run --requests 9 --shard 1/4 --json=- --quiet 2>&1");
    let logs = format!("{{ echo '  1s  50.0/s of 50.0/s  backlog 0 (0ns)'; {run}; }}");
    let script = format!("{logs} | {filter}");
    let found = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(object(&found)["settings"]["shard"], "1/4", "{found:?}");
}
