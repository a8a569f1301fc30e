//! Tests `nanopace compare`, which compares runs by their result files.

use crate::command::{nanopace, object, scratch};
use crate::running::{file, refusal};
use pulldown_cmark::{Event, Options, Parser};
use quick_junit::{Report, TestCase, TestCaseStatus};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Performs a run and returns its result file. A run that is incomplete on a busy machine is repeated.
fn run(name: &str, options: &str) -> PathBuf {
    let path = scratch(name);
    let line = format!("run --rate 500 --duration 2s --no-tui {options} --json");
    let status = |_| nanopace(&line).arg(&path).output().unwrap().status.code();
    assert_eq!((0..5).map(status).find(|&code| code != Some(4)), Some(Some(0)));
    path
}

fn compare(files: &[&Path], options: &[&str]) -> Output {
    nanopace("compare").args(files).args(options).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_run_is_as_good_as_itself_and_better_than_one_that_fails() {
    let good = run("compare-good.json", "");
    let bad = run("compare-bad.json", "--target-errors 50% --require errors<90%");
    let same = compare(&[&good, &good], &["--fail-if", "errors higher by 1%"]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let shown = text(&same.stdout);
    assert!(shown.contains("no difference seen") && !shown.contains("slower"), "{shown}");
    let worse = compare(&[&good, &bad], &["--fail-if", "errors higher by 10%", "--json", "-"]);
    assert_eq!(worse.status.code(), Some(3), "{worse:?}");
    let shown = text(&worse.stderr);
    assert!(shown.contains("differ    --target-errors: A: 0%; B: 50%"), "{shown}");
    assert!(shown.contains("missed    errors are higher by "), "{shown}");
    let object = object(&worse);
    let names =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(names(&object), "differ failed figures runs");
    let figure = |name: &str| {
        let figures = object["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["figure"] == name).unwrap()
    };
    let errors = figure("errors");
    assert_eq!(names(errors), "a b difference figure relative word");
    assert_eq!(names(&errors["a"]), "high low too_few value");
    assert_eq!(names(&errors["difference"]), "by high low");
    assert_eq!((&errors["word"], &errors["relative"]), (&"higher".into(), &Value::Null));
    assert_eq!(figure("p99.99 service")["word"], "too-few-samples");
    let other = run("compare-other.json", "");
    let with = compare(&[&good, &other], &["--with", good.to_str().unwrap()]);
    assert!(text(&with.stdout).contains("A: 2 runs"), "{with:?}");
    let twice = compare(&[&good, &good], &["--with", other.to_str().unwrap()]);
    assert!(text(&twice.stderr).contains("one side contains the same run twice"), "{twice:?}");
    let page = scratch("compared.html");
    let fails = ["--fail-if", "errors higher by 10%", "--html", page.to_str().unwrap()];
    for (other, status) in [(&good, 0), (&bad, 3)] {
        let output = compare(&[&good, other], &fails);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        let page = fs::read_to_string(&page).unwrap();
        assert_eq!(page.contains("Missed: errors are higher by "), status == 3, "{page}");
        assert!(page.contains("compare-good.json") && page.ends_with("</html>"), "{page}");
    }
}

#[test]
fn runs_that_cannot_be_compared_are_rejected() {
    let one = run("compare-one.json", "");
    let other = run("compare-poisson.json", "--arrivals poisson");
    let foreign = PathBuf::from(file("compare-foreign.json", "{}"));
    let text_of_one = fs::read_to_string(&one).unwrap();
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut object: Value = serde_json::from_str(&text_of_one).unwrap();
        change(&mut object);
        PathBuf::from(file(name, object.to_string()))
    };
    let later = changed("compare-later.json", &|run| run["version"] = "99.0.0".into());
    let unknown = changed("compare-unknown.json", &|run| run["version"] = "blue".into());
    let nameless = changed("compare-nameless.json", &|run| run["version"] = Value::Null);
    let empty = changed("compare-empty.json", &|run| {
        run["histograms"]["batches"] = Value::Array(Vec::new());
    });
    let backwards = changed("compare-backwards.json", &|run| {
        run["histograms"]["batches"][1]["to_seconds"] = (-1.0).into();
    });
    let unbounded = changed("compare-unbounded.json", &|run| {
        let all = &mut run["histograms"]["all"];
        let [response, none] = ["response", "lower_bounds"].map(|name| all[name].take());
        (all["lower_bounds"], all["response"]) = (response, none);
    });
    let shorter = changed("compare-shorter.json", &|run| run["duration_seconds"] = (-2.0).into());
    let versus = changed("compare-versus.json", &|run| {
        run["settings"]["versus"] = "http://127.0.0.1/".into();
    });
    let several = changed("compare-several.json", &|run| run["loads"] = json!({"reads": {}}));
    for (files, told) in [
        (vec![one.as_path(), other.as_path()], "the loads differ: --arrivals is even and poisson"),
        (
            vec![&one, &versus],
            "compare-versus.json: it has the results of a run with --versus: name the --json",
        ),
        (vec![&one, Path::new("nonexistent.json")], "cannot compare nonexistent.json: "),
        (vec![&one, &foreign], "it has no `histograms`"),
        (vec![&one, &later], "compare-later.json: its `version` is \"99.0.0\", and this program"),
        (vec![&one, &unknown], "compare-unknown.json: its `version` is \"blue\""),
        (vec![&one, &nameless], "compare-nameless.json: it has no `version`"),
        (vec![&one, &empty], "compare-empty.json: its `histograms.batches` is empty"),
        (vec![&backwards, &one], "compare-backwards.json: its `histograms.batches[1]` is from"),
        (vec![&one, &unbounded], "have lower bounds that are not among the times"),
        (vec![&one, &shorter], "compare-shorter.json: its `duration_seconds` is -2"),
        (vec![&one], "name two files, or the files of B after --with"),
    ] {
        let refused = refusal(compare(&files, &[]));
        assert!(refused.contains(told), "{refused}");
    }
    for change in ["p50 response better by 5%", "p98 response slower by 5%"] {
        let refused = refusal(compare(&[&one, &one], &["--fail-if", change]));
        let told = "the percentiles are p50, p90, p99, p99.9, p99.99";
        assert!(refused.contains(told), "{refused}");
    }
    for (baseline, told) in [
        (&versus, "it has the results of a run with --versus"),
        (&several, "has the results of several loads: name the --json file of a run with one load"),
    ] {
        let refused = refusal(nanopace("run --baseline").arg(baseline).output().unwrap());
        assert!(refused.contains(told), "{refused}");
    }
    for wrong in
        [["--json", one.to_str().unwrap()], ["--html", one.to_str().unwrap()], ["--html", "-"]]
    {
        refusal(compare(&[&one, &one], &wrong));
    }
}

#[test]
fn a_run_is_compared_with_its_baseline() {
    let good = run("baseline-good.json", "");
    let bad = "run --rate 500 --duration 2s --no-tui -v --target-errors 50%";
    let mut command = nanopace(bad);
    command.args(["--fail-if", "errors < 90%", "--fail-if", "errors higher by 10%", "--json", "-"]);
    let refused = refusal(command.output().unwrap());
    assert!(refused.contains("a requirement about a change needs --baseline FILE"), "{refused}");
    let failed = command.arg("--baseline").arg(&good).output().unwrap();
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let report = text(&failed.stderr);
    assert!(report.contains("baseline  A is the baseline, B is this run"), "{report}");
    assert!(report.contains("missed    errors are higher by "), "{report}");
    let object = object(&failed);
    assert_eq!(object["comparison"]["figures"][1]["word"], "higher");
    assert_eq!(object["missed"].as_array().unwrap().len(), 1);
    for (options, told) in [
        (
            "--rate 500 --duration 1s",
            "the lengths of the runs differ by more than 5 %: 2.0s and 1.0s",
        ),
        ("--rate 300 --duration 2s", "the loads differ by more than 5 %: 500/s and 300/s"),
        ("--rate 500 --arrivals poisson", "the loads differ: --arrivals is even and poisson"),
        ("--rate max", "the loads differ: only one has --rate max"),
    ] {
        let line = format!("run {options} --no-tui --baseline");
        let refused = refusal(nanopace(&line).arg(&good).output().unwrap());
        assert!(refused.contains(&format!("--baseline: {told}")), "{refused}");
    }
}

#[test]
fn a_run_of_another_length_is_not_compared() {
    let good = run("baseline-length.json", "");
    let mut shorter = nanopace("run --rate 500 --requests 500 --no-tui -v --json - --fail-if");
    let shorter = shorter.args(["rate lower by 1%", "--baseline"]).arg(&good).output().unwrap();
    assert_eq!(shorter.status.code(), Some(3), "{shorter:?}");
    let object = object(&shorter);
    let told = object["not_compared"].as_str().unwrap();
    assert!(
        told.starts_with("the lengths of the runs differ by more than 5 %: 2.0s and "),
        "{told}"
    );
    let report = text(&shorter.stderr);
    assert!(report.contains(&format!("baseline  not compared: {told}")), "{report}");
}

#[test]
fn requirements_are_reported_for_continuous_integration() {
    let [junit, short, step] = ["junit.xml", "short.md", "step.md"].map(scratch);
    fs::write(&step, "from before\n").unwrap();
    let mut command = nanopace("run --rate 200 --requests 20 --no-tui --junit");
    command.arg(&junit).arg("--summary").arg(&short).env("GITHUB_STEP_SUMMARY", &step);
    command.args(["--fail-if", "p50 response < 1ns", "--fail-if", "errors <= 1%"]);
    assert_eq!(command.output().unwrap().status.code(), Some(3));
    let report = Report::deserialize_from_str(&fs::read_to_string(&junit).unwrap()).unwrap();
    let cases = report.test_suites[0].test_cases.iter();
    let has_failed = |case: &TestCase| matches!(case.status, TestCaseStatus::NonSuccess { .. });
    let cases: Vec<_> = cases.map(|case| (case.name.as_str(), has_failed(case))).collect();
    let expected =
        [("p50 response < 1ns", true), ("errors <= 1%", false), ("the load is complete", false)];
    assert_eq!(cases, expected);
    let short = fs::read_to_string(&short).unwrap();
    let texts = Parser::new_ext(&short, Options::ENABLE_TABLES);
    let texts = texts.filter_map(|event| match event {
        Event::Text(text) => Some(text.to_string()),
        _ => None,
    });
    let texts = texts.collect::<String>();
    assert!(texts.contains("errors <= 1%holds"), "{texts}");
    assert_eq!(fs::read_to_string(&step).unwrap(), format!("from before\n{short}"));
}
