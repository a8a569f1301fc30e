//! Tests runs with a full disk, with signals and with a target that dies: only the output on the full disk is lost, and
//! after signals or the target's death, the results add up.

#![cfg(unix)]

use crate::command::{nanopace, object, scratch, signal};
use crate::running::{at_work, output};
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::thread;

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_only_its_own_files() {
    let ran = |files: &str| output(&format!("run --rate 500 --requests 20 {files}"));
    let output = ran("--json /dev/full");
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(report.contains("20 completed") && report.contains("rate  "), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");

    let output = ran("--hdr /dev/full --json -");
    assert_eq!((output.status.code(), &object(&output)["completed"]), (Some(1), &20.into()));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write --hdr"), "{output:?}");

    let json = scratch("kept.json");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = nanopace("run --rate 500 --requests 20 --json");
    let status = command.arg(&json).stdout(full).status().unwrap();
    let kept: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((status.code(), &kept["completed"]), (Some(1), &20.into()));
}

#[test]
fn signals_end_a_run_with_its_report() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let (child, mut progress) = at_work("run --rate 200 --duration 10min --json -");
        signal(child.id(), name);
        progress.errors.read_to_string(&mut String::new()).unwrap();
        let output = child.wait_with_output().unwrap();
        let results = object(&output);
        // On a busy machine, a slot may be overdue.
        let status = if results["incomplete"].is_null() { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(status), "{name}: {output:?}");
        assert_adds_up(&results);
    }
}

#[test]
fn two_signals_give_up_the_requests_in_flight() {
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
    assert_eq!(output.status.code(), Some(4), "{results}");
    assert!(results["incomplete"].as_str().unwrap().starts_with("ended early, when "));
    assert_eq!((&results["started"], &results["unfinished"]), (&4.into(), &4.into()));
}

/// Starts a server that closes its connection and its listener after `answers` responses.
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

#[test]
fn a_target_that_dies_fails_the_run() {
    let url = mortal(20);
    let line = format!("run --url {url} --rate 200 -c 1 --requests 60 --json -");
    let output = output(&line);
    let results = object(&output);
    assert_adds_up(&results);
    // One of the 20 responses was that of the probe, which is not a request of the run.
    assert_eq!((&results["completed"], &results["failed"]), (&19.into(), &41.into()));
    assert_eq!(
        results["failures"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
        41
    );
    assert_eq!((output.status.code(), &results["verdict"]), (Some(0), &"target-failing".into()));
}
