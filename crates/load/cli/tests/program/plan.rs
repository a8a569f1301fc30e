//! Tests the output of `nanopace plan`. Nothing is run, so all figures are exact.

use crate::command::nanopace;
use crate::running::refusal;
use roxmltree::Document;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn plan(line: &str) -> Command {
    nanopace(&format!("plan {line}"))
}

fn output(line: &str) -> Output {
    plan(line).output().unwrap()
}

fn report(line: &str) -> String {
    let output = output(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn starts(line: &str) -> Vec<String> {
    let csv = report(&format!("{line} --csv -"));
    let mut lines = csv.lines().map(str::to_owned);
    assert_eq!(lines.next().as_deref(), Some("intended_start_seconds"), "{line}");
    lines.collect()
}

fn seconds(starts: &[String]) -> Vec<f64> {
    starts.iter().map(|start| start.parse().unwrap()).collect()
}

fn figure(line: &str, name: &str) -> String {
    let report = report(line);
    let found = report.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("{name}: {report}")).trim().to_owned()
}

const LOADS: [&str; 5] = [
    "--rate 300/s --duration 2s",
    "--shape \"ramp 0/s..100/s 10s\"",
    "--shape \"(hold 500/s 100ms, hold 0/s 900ms) forever\" --requests 300",
    "--shape \"sine 10/s..200/s period 1s x3, ladder 10/s..50/s steps 5 each 1s\"",
    "--shape \"spike 0/s..1k/s 1s mirror\" --duration 1500ms --requests 700",
];
const ARRIVALS: [&str; 5] =
    ["even", "poisson", "exact-poisson:100", "gamma:0.25 --seed 3", "jitter:0.3"];

#[test]
fn a_start_at_the_very_end_is_neither_listed_nor_counted() {
    // Slot 14 starts 0.24 ns before the end. Rounding moves its start to the end.
    let line = "--shape \"hold 1261/s 0.0111023s\"";
    assert_eq!((starts(line).len(), &*figure(line, "slots")), (14, "14"));
}

#[test]
fn a_plan_counts_the_starts_that_it_lists() {
    for (load, arrivals) in LOADS.into_iter().zip(ARRIVALS) {
        for shard in ["1/1", "2/3"] {
            let line = format!("{load} --arrivals {arrivals} --shard {shard}");
            let starts = starts(&line);
            assert!(seconds(&starts).is_sorted(), "{line}");
            assert_eq!(figure(&line, "slots"), starts.len().to_string(), "{line}");
        }
    }
    let random =
        |seed: &str| starts(&format!("--rate 100/s --duration 3s --arrivals poisson {seed}"));
    assert_eq!(random(""), random("--seed 0"));
    assert_ne!(random(""), random("--seed 1"));
}

#[test]
fn a_table_is_a_shape() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("rates.csv");
    let name = file.to_str().unwrap();
    let plan = |prefix: &str| starts(&format!("--shape {prefix}:{name}"));
    for lines in [
        "0,10/s\n0.5,30/s\n1.5,30/s\n",
        "time,rate\n0s,10/s\n# up\n500ms, 1800/min\n1.5s,30/s",
        " 0,10/s\n0.5,30/s\n1.5,30/s\n",
        "\u{feff}0,10/s\n0.5,30/s\n1.5,30/s\n",
        "\u{feff}time,rate\n0,10/s\n0.5,30/s\n1.5,30/s\n",
    ] {
        fs::write(&file, lines).unwrap();
        assert_eq!(plan("table"), starts("--shape \"ramp 10/s..30/s 500ms, hold 1s\""));
        assert_eq!(plan("steps"), starts("--shape \"hold 10/s 500ms, hold 30/s 1s\""));
    }
    let first = "a table has two points or more, and the first one";
    for (lines, told) in [
        ("0,10/s\nsoon,5/s\n", "line 2: `soon` is not a time"),
        ("0,10/s\n1,fast\n", "line 2: `fast`"),
        ("0,10/s\n1\n", "line 2: `1` is not a time and a rate"),
        ("0,10/s\n1,5/s\n1,5/s\n", "rates.csv"),
        ("x,100/s\n5,100/s\n", "line 1: `x` is not a time"),
        ("O,100/s\n5,100/s\n6,1/s\n", "line 1: `O` is not a time"),
        ("# rates\n\n 5s,100/s\n6,1/s\n", &format!("line 3: {first}")),
        ("time,rate\n0,100/s\n", "line 1, `time,rate`, is a heading: a table has two points"),
        ("-1,100/s\n5,100/s\n", "line 1: `-1` is not a time"),
        ("0,fast\n5,100/s\n", "line 1: `fast`"),
    ] {
        fs::write(&file, lines).unwrap();
        let stderr = refusal(output(&format!("--shape table:{name}")));
        assert!(stderr.contains(told), "{lines:?}: {stderr}");
    }
}

#[test]
fn a_list_of_starts_can_be_replayed() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("starts.csv");
    let file = file.to_str().unwrap();
    for load in [LOADS[0], LOADS[4]] {
        let load = format!("{load} --arrivals gamma:0.5");
        let line = format!("{load} --csv {file}");
        report(&line);
        let recorded = starts(&load);
        let replay = format!("--arrivals replay:{file}");
        assert_eq!(starts(&replay), recorded, "{load}");
        assert_eq!(starts(&format!("{replay} --rate 1/s")), recorded, "{load}");
        assert_eq!(figure(&replay, "slots"), recorded.len().to_string(), "{load}");
        let twice = seconds(&starts(&format!("{replay} --rate 2/s")));
        for (fast, slow) in twice.into_iter().zip(seconds(&recorded)) {
            assert!((fast * 2.0 - slow).abs() < 3e-9, "{load}: {fast} {slow}");
        }
    }
}

#[test]
fn the_summary_has_the_figures_of_the_shape() {
    let line = "--shape \"ramp 0/s..100/s 10s, hold 10s, sine 100/s..300/s period 20s\"";
    assert_eq!(figure(line, "duration"), "40.0s");
    assert_eq!(figure(line, "slots"), "5500");
    assert_eq!(figure(line, "rate"), "lowest 0/s, mean 138/s, peak 300/s");
    let third = format!("{line} --shard 1/3 --duration 20s");
    assert_eq!(figure(&third, "slots"), "500");
    assert_eq!(figure(&third, "rate"), "lowest 0/s, mean 25.0/s, peak 33.3/s");
    let endless = figure("--rate 5/s", "duration");
    assert_eq!(endless, "60.0s: the beginning of a load without end");
    assert_eq!(figure("--rate 5/s --requests 10", "duration"), "2.00s");
    let folder = TempDir::new().unwrap();
    let replay = |starts: &str| {
        let file = folder.path().join("starts");
        fs::write(&file, starts).unwrap();
        format!("--arrivals replay:{}", file.display())
    };
    assert_eq!(figure(&replay("0\n108000\n"), "duration"), "1day 6h");
    assert_eq!(figure(&replay("0\n"), "rate"), "none: all starts are at the same time");
}

#[test]
fn charts_fit_and_grow() {
    let folder = TempDir::new().unwrap();
    let starts = folder.path().join("starts");
    fs::write(&starts, "0\n".repeat(100_000) + "0.000000001\n").unwrap();
    let at_once = format!("--arrivals replay:{}", starts.display());
    for load in LOADS.into_iter().chain([&*at_once]) {
        let report = report(load);
        // For the recording, only the chart is checked, because the path in the other lines may be long.
        let is_chart = |line: &&str| load != at_once || line.contains(['│', '┼', '└']);
        let mut lines = report.lines().filter(is_chart);
        assert!(lines.all(|line| line.chars().count() <= 80), "{report}");
        assert!(report.contains("requests per second, over time\n"), "{report}");
        let sums = report.split_once("requests so far, over time\n").unwrap().1;
        // Rows are filled from the right, and no row begins further left than the row below.
        let rows: Vec<_> = sums.lines().take(6).map(|row| row.split_once('│').unwrap().1).collect();
        let blanks = rows.iter().map(|row| row.chars().take_while(|&char| char == ' ').count());
        assert!(blanks.rev().is_sorted(), "{report}");
        assert!(rows.iter().all(|row| !row.trim_start().contains(' ')), "{report}");
    }
}

#[test]
fn a_picture_has_both_curves() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("load.svg");
    for load in [LOADS[1], LOADS[3]] {
        let chart = report(&format!("{load} --svg {}", file.display()));
        assert!(chart.contains("requests so far"), "{chart}");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(report(&format!("{load} --svg -")), text);
        let picture = Document::parse(&text).unwrap();
        let labels: Vec<_> = picture.descendants().filter_map(|node| node.text()).collect();
        for label in ["requests per second", "requests so far", "time from the start"] {
            assert!(labels.iter().any(|text| text.trim() == label), "{label}: {labels:?}");
        }
        let longest = picture.descendants().filter_map(|node| node.attribute("points"));
        let points = longest.map(|points| points.split_whitespace().count()).filter(|&n| n > 600);
        assert_eq!(points.count(), 2, "{text}");
    }
}

#[test]
fn an_error_in_a_shape_has_a_caret_below_it() {
    for (shape, column) in [("hold 5k/s 10s, jump 3s", 16), ("hold", 5), ("ramp 1/s..2x/s 3s", 11)]
    {
        let output = output(&format!("--shape \"{shape}\""));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<_> = stderr.lines().collect();
        assert_eq!((output.status.code(), lines.len()), (Some(2), 3), "{stderr}");
        assert!(lines[0].starts_with(&format!("error: --shape: column {column}: ")), "{stderr}");
        assert_eq!(lines[1], format!("  {shape}"), "{stderr}");
        assert_eq!(lines[2], format!("  {:>column$}", '^'), "{stderr}");
    }
}

#[test]
fn an_invalid_plan_prints_one_line_and_has_status_2() {
    for (line, told) in [
        ("--csv -", "this load never ends: give --duration or --requests"),
        ("--shape \"hold 1/s 1s forever\" --csv -", "this load never ends"),
        ("--rate 5/s --shape \"hold 1/s 1s\"", "cannot be used with"),
        ("--rate 0", "--rate"),
        ("--arrivals soon", "not an arrival process"),
        ("--arrivals gamma:0", "gamma:0.25"),
        ("--arrivals replay:", "write replay:FILE"),
        ("--arrivals replay:/nonexistent/file", "cannot read /nonexistent/file"),
        ("--arrivals replay:/", "cannot read /: is a directory"),
        (
            "--arrivals replay:README.md",
            "README.md line 1 column 1: `# nanopace-cli` is not a time",
        ),
        ("--shard 0/3", "1/3"),
        ("--seed x", "--seed"),
        ("--duration 0s", "--duration"),
        ("--rate 1/d --duration 600years", "can last at most 292 years"),
        ("--arrivals soon", "write replay:FILE or har:FILE"),
        ("--requests 0", "--requests"),
        ("--duration 1s --csv - --svg -", "same file"),
        ("--svg /nonexistent/file", "/nonexistent/file"),
        ("--duration 1s --csv /nonexistent/file", "/nonexistent/file"),
    ] {
        let stderr = refusal(output(line));
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{line}: {stderr}");
    }
}

#[test]
fn an_invalid_plan_does_not_change_files() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("starts.csv");
    fs::write(&file, "kept").unwrap();
    output(&format!("--csv {}", file.display()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn the_topic_teaches_shapes_that_are_taken() {
    let help = nanopace("help shapes").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for part in ["ramp ..5k/s 30s", "mirror", "steps:FILE"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let quoted = help.split('"').skip(1).step_by(2).map(str::to_owned);
    let words = ["hold ", "ramp ", "sine ", "spike ", "ladder ", "("];
    let table = help.lines().filter_map(|line| line.strip_prefix("  "));
    let table = table.filter(|line| words.iter().any(|word| line.starts_with(word)));
    let table = table.map(|line| line.split("   ").next().unwrap().trim().to_owned());
    let shapes: Vec<_> = quoted.chain(table).collect();
    assert!(shapes.len() >= 9, "{shapes:?}");
    for shape in shapes {
        report(&format!("--shape \"{shape}\""));
    }
}

#[test]
fn the_example_of_the_manual_is_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/run/how-to.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.rsplit_once("$ nanopace plan ").unwrap().1.split_once("```").unwrap().0;
    let (line, csv) = example.split_once('\n').unwrap();
    assert_eq!(report(line), csv);
}

#[test]
fn a_closed_pipe_ends_it_and_is_an_error() {
    let mut child = plan("--rate 10M/s --duration 1h --csv -")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut starts = BufReader::new(child.stdout.take().unwrap());
    starts.read_line(&mut String::new()).unwrap();
    drop(starts);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: ") && stderr.contains("Broken pipe"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_plan_ends_with_a_whole_line() {
    let folder = TempDir::new().unwrap();
    let file: PathBuf = folder.path().join("starts.csv");
    let mut child = plan(&format!("--rate 10M/s --duration 24h --csv {}", file.display()))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Once the first line of progress has been written, signals are handled.
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    progress.read_line(&mut String::new()).unwrap();
    crate::command::signal(child.id(), "-INT");
    let rest = std::io::read_to_string(progress).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{rest}");
    let written = rest.lines().last().unwrap().strip_prefix("interrupted after ").unwrap();
    let written: usize =
        written.strip_suffix(" starts; the list is incomplete").unwrap().parse().unwrap();
    let csv = fs::read_to_string(file).unwrap();
    assert!(csv.ends_with('\n'));
    assert_eq!(csv.lines().count(), written + 1);
}
