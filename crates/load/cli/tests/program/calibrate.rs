//! Tests the output of `nanopace calibrate`. No test asserts a measured time.

use crate::command::{nanopace, object, scratch};
use crate::running::refusal;
use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::process::Output;

fn output(line: &str) -> Output {
    nanopace(&format!("calibrate {line}")).output().unwrap()
}

fn names(value: &Value) -> String {
    value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_json_object_has_the_promised_names_and_no_others() {
    let results = object(&output("--seconds 0.5 --json -"));
    assert_eq!(
        names(&results),
        "clock complete cores even_rates recommended sleeping sleeps spinning starts taken timer_slack_ns"
    );
    assert_eq!(results["complete"], true);
    assert_eq!(
        names(&results["clock"]),
        "reading_ns source start_ns system_reading_ns system_source"
    );
    assert_eq!(names(&results["spinning"]), "duration_seconds gap_ns hiccups share_lost");
    assert_eq!(names(&results["sleeps"][0]), "asked_ns cpu_each_ns fine_timers oversleep_ns");
    assert_eq!(
        names(&results["starts"][0]),
        "cpu_share gaps_within_25_percent lateness_ns pause rate"
    );
    assert_eq!(names(&results["even_rates"][0]), "limited_by pause rate");
    let fastest = 1e9 / results["clock"]["start_ns"].as_f64().unwrap() * (1.0 + 1e-9);
    for even in results["even_rates"].as_array().unwrap() {
        assert!(even["rate"].as_f64().unwrap() <= fastest, "{even} of {fastest}");
    }
    assert_eq!(names(&results["taken"]), "by_others in_hiccups too_busy");
    if results["taken"]["too_busy"] == true {
        assert_eq!(results["recommended"], Value::Null);
    } else {
        assert_eq!(names(&results["recommended"]), "pause reason");
    }
    #[cfg(target_os = "linux")]
    {
        assert_eq!(names(&results["sleeping"]), "clump_ns clumped_above_rate clumps cpu_each_ns");
        assert_eq!(names(&results["sleeping"]["clumps"][0]), "rate starts");
    }
    assert_eq!(names(&results["spinning"]["gap_ns"]), "count max mean p50 p90 p99 p99_9 p99_99");
}

/// On a busy machine, other programs may take all of the time of a measurement.
#[test]
fn each_sleep_is_measured_even_if_there_is_no_time() {
    let results = object(&output("--seconds 1e-7 --json -"));
    let sleeps = results["sleeps"].as_array().unwrap();
    assert!(!sleeps.is_empty(), "{results}");
    for sleep in sleeps {
        assert!(sleep["oversleep_ns"]["count"].as_u64().unwrap() >= 1, "{sleep}");
    }
    #[cfg(target_os = "linux")]
    assert!(results["sleeping"].is_object(), "{results}");
}

#[test]
fn report_object_and_plot_come_together() {
    let (json, svg) = (scratch("calibrate.json"), scratch("calibrate.svg"));
    let output =
        output(&format!("--seconds 0.3 --json {} --svg {}", json.display(), svg.display()));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(serde_json::from_slice::<Value>(&fs::read(&json).unwrap()).unwrap().is_object());
    let report = String::from_utf8(output.stdout).unwrap();
    let mut rest = &report[..];
    for part in [
        "machine ",
        "\nclock ",
        "\nstarts ",
        "\ntimers ",
        "\noversleep ",
        "\na spinning thread ",
        "\nlateness of starts ",
        #[cfg(target_os = "linux")]
        "\na sleep costs ",
        "\nhighest rate with even gaps",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in {rest}"));
        rest = &rest[at + part.len()..];
    }
    assert!(
        report.contains("\nrecommended: ") != report.contains("\ntoo busy to recommend: "),
        "{report}"
    );
    let text = fs::read_to_string(&svg).unwrap();
    let plot = Document::parse(&text).unwrap();
    assert_eq!(plot.root_element().tag_name().name(), "svg");
    assert!(plot.descendants().any(|node| node.has_tag_name("polyline")), "{text}");
}

#[test]
fn an_invalid_command_prints_one_line_and_has_status_2() {
    for (line, told) in [
        ("--seconds 0", "--seconds"),
        ("--seconds soon", "must be more than 0 and at most 86400"),
        ("--seconds 1e-10", "--seconds"),
        ("--svg -", "--svg -: the plot needs a file"),
        ("--json /nonexistent/file", "/nonexistent/file"),
        ("--svg /nonexistent/file", "/nonexistent/file"),
        ("--rate 5", "--rate"),
    ] {
        let stderr = refusal(output(line));
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{line}: {stderr}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_the_results_so_far() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let mut command = nanopace("calibrate --seconds 600 --json -");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once the first line of progress has been written, signals are handled.
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    progress.read_line(&mut String::new()).unwrap();
    crate::command::signal(child.id(), "-INT");
    // The rest is read, so that the program never finds the pipe closed.
    let report = std::io::read_to_string(progress).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let results = object(&output);
    assert_eq!((&results["complete"], &results["recommended"]), (&false.into(), &Value::Null));
    assert!(report.contains("not everything was measured"), "{report}");
}
