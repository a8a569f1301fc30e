//! What goes wrong around a run: full disks, signals, a target that dies. Nothing is lost, and every
//! report adds up.

#![cfg(unix)]

use crate::beside::side_by_side;
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

fn nanopace(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub(crate) fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// What a run has said on its standard error, and where it goes on.
pub(crate) struct Progress {
    pub(crate) said: String,
    pub(crate) errors: BufReader<ChildStderr>,
}

/// A run, its standard error read up to its first status: the schedule is at work.
pub(crate) fn at_work(line: &str) -> (Child, Progress) {
    let mut child = nanopace(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let (mut said, mut read) = (String::new(), String::new());
    while !read.contains(" of ") || !read.contains("backlog ") {
        read.clear();
        assert_ne!(errors.read_line(&mut read).unwrap(), 0, "{line} has ended");
        said.push_str(&read);
    }
    (child, Progress { said, errors })
}

pub(crate) fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(status.success(), "{name}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_only_what_was_to_be_on_it() {
    let run = "run --rate 500 --requests 20";
    let output = nanopace(&format!("{run} --json /dev/full")).output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(report.contains("20 completed") && report.contains("rate  "), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");

    let output = nanopace(&format!("{run} --hdr /dev/full --json -")).output().unwrap();
    assert_eq!((output.status.code(), &object(&output)["completed"]), (Some(1), &20.into()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interval log"), "{output:?}");

    let json = scratch("kept.json");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = nanopace(&format!("{run} --json"));
    let status = command.arg(&json).stdout(full).status().unwrap();
    let kept: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((status.code(), &kept["completed"]), (Some(1), &20.into()));
}

#[test]
fn signals_end_it_with_its_report() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let (child, mut progress) = at_work("run --rate 200 --duration 10min --json -");
        signal(child.id(), name);
        progress.errors.read_to_string(&mut String::new()).unwrap();
        let output = child.wait_with_output().unwrap();
        let results = object(&output);
        // On a busy machine a slot may be overdue.
        let status = if results["incomplete"].is_null() { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(status), "{name}: {output:?}");
        assert_adds_up(&results);
    }
}

#[test]
fn a_run_that_ended_in_its_warm_up_has_recorded_nothing() {
    // The first line says that it listens to signals; the first slot may be before or behind them.
    for _ in 0..10 {
        let mut child = nanopace("run --rate 1/h --warmup 1h --fail-if started<5 --json -");
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut progress = BufReader::new(child.stderr.take().unwrap());
        progress.read_line(&mut String::new()).unwrap();
        signal(child.id(), "-INT");
        progress.read_to_string(&mut String::new()).unwrap();
        let output = child.wait_with_output().unwrap();
        let results = object(&output);
        assert_eq!((output.status.code(), &results["due"]), (Some(4), &0.into()), "{results}");
        assert_eq!(results["verdict"], "nothing-recorded", "{results}");
        assert_eq!(results["incomplete"], "ended before its warm-up was over", "{results}");
    }
}

#[test]
fn two_signals_give_up_the_answers() {
    let stalled = "run --rate 200 -c 4 --duration 10min --timeout 10min --target-stall 10min@0s";
    let (child, mut progress) = at_work(&format!("{stalled} --json -"));
    signal(child.id(), "-INT");
    let mut read = String::new();
    while !read.contains("waiting for 4 responses") {
        read.clear();
        assert_ne!(progress.errors.read_line(&mut read).unwrap(), 0, "it has ended");
    }
    signal(child.id(), "-INT");
    progress.errors.read_to_string(&mut String::new()).unwrap();
    let output = child.wait_with_output().unwrap();
    let results = object(&output);
    assert_adds_up(&results);
    // Who looks at the status alone sees that this is not what was asked for.
    assert_eq!(output.status.code(), Some(4), "{results}");
    assert!(results["incomplete"].as_str().unwrap().starts_with("ended early, when "));
    assert_eq!((&results["started"], &results["unfinished"]), (&4.into(), &4.into()));
}

/// While the process is stopped, slots fall due and nobody starts them. It is not the target's
/// fault, whatever the schedule does about it.
#[test]
fn a_stopped_generator_blames_itself() {
    let policies = [
        "--skip-later-than 50ms",
        "--max-backlog 50ms",
        "--strictness 1",
        "--strictness 1.5",
        "--strictness 0",
    ];
    side_by_side(policies, |policy| {
        let line = format!("run --rate 500 --duration 4s --json - {policy}");
        let (child, mut progress) = at_work(&line);
        signal(child.id(), "-STOP");
        thread::sleep(Duration::from_secs(2));
        signal(child.id(), "-CONT");
        let mut said = String::new();
        progress.errors.read_to_string(&mut said).unwrap();
        let output = child.wait_with_output().unwrap();
        let results = object(&output);
        let status = if results["incomplete"].is_null() { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(status), "{policy}: {output:?}, {said}");
        assert_adds_up(&results);
        assert_eq!(results["verdict"], "generator-behind", "{policy}: {results}");
    });
}

/// A server that hangs up on everybody after so many answers, and is then gone.
fn mortal(answers: usize) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut left = answers;
        while left > 0 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            while left > 0 && stream.read(&mut request).is_ok_and(|read| read > 0) {
                left -= 1;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
            }
        }
    });
    url
}

/// It does not count failures as fast as they come.
#[test]
fn a_closed_loop_waits_for_a_target_that_is_gone() {
    let scenario = scratch("gone.toml");
    let step = |url: &str| {
        format!("[[scenario]]\nname = \"a\"\n[[scenario.step]]\nname = \"b\"\nurl = \"{url}\"\n")
    };
    for is_scenario in [false, true] {
        let url = mortal(1);
        fs::write(&scenario, step(&url)).unwrap();
        let what = if is_scenario { "--scenario" } else { "--url" };
        let of = if is_scenario { scenario.to_str().unwrap() } else { &url };
        let run = format!("run {what} {of} --rate max -c 2 -z 300ms --json -");
        let results = object(&nanopace(&run).output().unwrap());
        assert_adds_up(&results);
        // At most 10 000 a second that could not connect, the first of each session, and those on connections that were
        // still in the target's queue.
        assert!(results["failed"].as_u64().unwrap() <= 3_000 + 2 + 4, "{results}");
    }
}

#[test]
fn a_target_that_dies_fails_the_run() {
    let url = mortal(20);
    let line = format!("run --url {url} --rate 200 -c 1 --requests 60 --json -");
    let output = nanopace(&line).output().unwrap();
    let results = object(&output);
    assert_adds_up(&results);
    // One answer was for the probe.
    assert_eq!((&results["completed"], &results["failed"]), (&19.into(), &41.into()));
    assert_eq!(
        results["failures"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
        41
    );
    assert_eq!((output.status.code(), &results["verdict"]), (Some(3), &"target-failing".into()));
}

/// Answers before it has read a body, and closes the connection. The answer's own body has 2 bytes.
fn refusing_bodies(length: usize) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = format!("HTTP/1.1 413 Large\r\ncontent-length: {length}\r\n\r\nno");
            // The client may have gone.
            let _ = stream.read(&mut [0; 1024]).and_then(|_| stream.write_all(answer.as_bytes()));
        }
    });
    url
}

/// The request before the run has that status as well, which is no reason not to begin.
#[test]
fn a_server_that_refuses_bodies_has_answered() {
    let body = scratch("refused-body");
    fs::write(&body, b"\xff").unwrap();
    fs::File::options().write(true).open(&body).unwrap().set_len(70 << 20).unwrap();
    // All of the answer is there, or not.
    for length in [2, 10] {
        let (url, body) = (refusing_bodies(length), body.display());
        let line = format!("run --url {url} -D {body} -n 30 --rate 1k/s -c 3 -t 10min --json -");
        let output = nanopace(&line).output().unwrap();
        let results = object(&output);
        assert_adds_up(&results);
        assert_eq!(results["failures"], serde_json::json!({ "status 413": 30 }), "{results}");
        assert_eq!(results["statuses"], serde_json::json!({ "413": 30 }), "{results}");
    }
}
