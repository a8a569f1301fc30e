//! Tests the files of a run: no input is overwritten, and old results are kept until new ones are complete.
#![cfg(unix)]

use crate::command::nanopace;
#[cfg(feature = "otlp")]
use crate::command::signal;
use crate::intervals::histograms;
use hdrhistogram::Histogram;
use std::fs;
#[cfg(feature = "otlp")]
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

fn output(folder: &TempDir, line: &str) -> Output {
    nanopace(line).current_dir(folder).output().unwrap()
}

fn start(folder: &TempDir, line: &str) -> Child {
    let mut command = nanopace(line);
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_output_is_another_file_of_the_run() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("inner")).unwrap();
    symlink("new", at("dangling")).unwrap();
    symlink("body", at("to-body")).unwrap();
    for (name, text) in [
        ("run.toml", "requests = 1\n"),
        ("body", "hello"),
        ("targets", "PUT http://127.0.0.1:1/\n@body\n"),
        ("rates", "0,1/s\n1,1/s\n"),
    ] {
        fs::write(at(name), text).unwrap();
    }
    let before = |name| fs::read_to_string(at(name)).unwrap();
    let old = ["run.toml", "body", "targets", "rates"].map(before);
    for (line, told) in [
        ("run --config run.toml --json run.toml", "--json run.toml: --config reads this file"),
        ("run --config run.toml --csv inner/../run.toml", "--config reads this file"),
        ("run --targets targets --json body", "--json body: a request of --targets reads this"),
        ("run --targets targets --hdr to-body", "a request of --targets reads this file"),
        ("run --shape table:rates --html rates", "--html rates: --shape reads this file"),
        ("search --targets targets --svg body", "a request of --targets reads this file"),
        ("run --json new --csv inner/../new", "--json and --csv have the same file"),
        ("run --json new --html dangling", "--json and --html have the same file"),
        ("run --csv new --hdr dangling", "--csv and --hdr have the same file"),
        ("run --json - --csv /dev/stdout", "--json and --csv have the same file"),
        ("search --json new --svg inner/../new", "--json and --svg have the same file"),
        ("plan --duration 1s --svg dangling --csv new", "--csv and --svg have the same file"),
        ("calibrate --json new --svg ./new", "--json and --svg have the same file"),
    ] {
        let output = output(&folder, line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(told), "{line}: {stderr}");
    }
    assert_eq!(["run.toml", "body", "targets", "rates"].map(before), old);
    assert!(!at("new").exists());
}

#[test]
fn a_report_and_results_in_one_file_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("both");
    let stdout = fs::File::create(&path).unwrap();
    let line = "run --requests 1 --json both";
    let output = nanopace(line).current_dir(&folder).stdout(stdout).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--json both: standard output goes to this file"), "{told}");
    let requests = folder.path().join("requests");
    fs::write(&requests, "1\n").unwrap();
    let input = fs::File::open(&requests).unwrap();
    let output = nanopace("run --targets - --csv requests")
        .current_dir(&folder)
        .stdin(input)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--csv requests: --targets reads this file"), "{told}");
    assert_eq!(fs::read_to_string(&requests).unwrap(), "1\n");
}

#[test]
fn the_interval_log_is_there_while_the_run_goes_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut run = start(&folder, "run --rate 100 --duration 10min --hdr log");
    let log = || fs::read(&path).unwrap_or_default();
    let intervals =
        || log().split(|byte| *byte == b'\n').filter(|it| it.starts_with(b"Tag=")).count();
    wait_until("the log has no interval", || intervals() >= 6);
    run.kill().unwrap();
    run.wait().unwrap();
    let counted: u64 = histograms(&log(), "response").iter().map(Histogram::len).sum();
    assert!(counted > 0);
}

#[test]
fn a_log_that_cannot_go_on_ends_with_a_whole_line() {
    thread::scope(|scope| {
        for (log, blocks) in [("csv", 1), ("hdr", 8)] {
            scope.spawn(move || assert_is_whole(log, blocks));
        }
    });
}

fn assert_is_whole(log: &str, blocks: usize) {
    let folder = TempDir::new().unwrap();
    let program = env!("CARGO_BIN_EXE_nanopace");
    let line = format!("run --rate 200 --duration 4s --{log} log");
    let line = format!("ulimit -f {blocks} && exec '{program}' {line}");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(&folder).stdin(Stdio::null()).output();
    assert_eq!(output.unwrap().status.code(), Some(1), "{log}");
    let text = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(text.ends_with('\n') && text.len() <= 512 * blocks, "{log}: {text}");
    assert!(log == "csv" || !histograms(text.as_bytes(), "response").is_empty(), "{text}");
}

#[cfg(feature = "otlp")]
#[test]
fn old_results_stay_when_a_run_is_killed() {
    for signals in [&["-KILL"][..], &["-INT", "-INT", "-INT"]] {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("json"), "old").unwrap();
        fs::write(at("html"), "old").unwrap();
        // The run takes a long time to end, because the collector does not respond to the last push.
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = collector.local_addr().unwrap();
        let line = "run --rate 100 --duration 10min --json json --html html --csv csv";
        let mut run = start(&folder, &format!("{line} --otlp http://{address}"));
        let csv = || fs::read_to_string(at("csv")).unwrap_or_default();
        wait_until("the run has not started", || csv().lines().count() >= 2);
        for name in signals {
            signal(run.id(), name);
            // Two signals at the same time would count as one.
            thread::sleep(Duration::from_millis(300));
        }
        assert!(!run.wait().unwrap().success());
        assert_eq!(["json", "html"].map(|name| fs::read_to_string(at(name)).unwrap()), ["old"; 2]);
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
    }
}

#[test]
fn results_go_into_a_pipe_and_replace_a_file() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("html"), "old".repeat(1_000_000)).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = at("pipe");
    let reader = thread::spawn(move || fs::read_to_string(pipe).unwrap());
    let line = "run --rate 100 --requests 5 --json pipe --html html";
    assert!(output(&folder, line).status.success());
    let results: serde_json::Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert_eq!(results["due"], 5);
    assert!(fs::read_to_string(at("html")).unwrap().ends_with("</html>"));
}

#[test]
fn old_logs_stay_when_a_run_is_refused() {
    let folder = TempDir::new().unwrap();
    let written = ["json", "html", "csv", "hdr"].map(|name| folder.path().join(name));
    for path in &written {
        fs::write(path, "old").unwrap();
    }
    let line = "run --url http://127.0.0.1:1/ --json json --html html --csv csv --hdr hdr";
    assert_eq!(output(&folder, line).status.code(), Some(5));
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert!(written.iter().all(|path| read(path) == "old"));
}
