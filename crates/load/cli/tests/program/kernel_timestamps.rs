//! Tests the generator's own part of the service time, which `--kernel-timestamps` measures.

use crate::command::{nanopace, object, signal};
use crate::running::refusal;
use crate::server::{Asked, serving};
use serde_json::Value;
use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const HELD: Duration = Duration::from_millis(400);
/// The factor by which the rounding of a histogram with three significant digits can change a time.
const DIGITS: f64 = 1.002;

fn max(results: &Value, times: &str) -> f64 {
    results[times]["max"].as_f64().unwrap_or_else(|| panic!("{times}: {results}"))
}

fn server() -> (String, Receiver<TcpStream>) {
    let (sender, asked) = mpsc::channel();
    let address = serving(move |stream, connection| {
        let mut reader = BufReader::new(stream.try_clone()?);
        while Asked::read(&mut reader, connection).is_some() {
            sender.send(stream.try_clone()?).unwrap();
        }
        Ok(())
    });
    (format!("http://{address}/"), asked)
}

fn answer(mut stream: &TcpStream) {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
}

/// Returns the results of a run with timestamps. A run without timestamps is repeated, because the kernel may enable
/// them late.
fn one(mut serve: impl FnMut(&TcpStream, &Child)) -> Value {
    let mut attempt = || {
        let (url, asked) = server();
        let line = format!("run {url} -n 1 --rate 10/s -c 1 --kernel-timestamps --json -");
        let child = nanopace(&line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        answer(&asked.recv().unwrap());
        serve(&asked.recv().unwrap(), &child);
        object(&child.wait_with_output().unwrap())
    };
    let is_stamped = |results: &Value| {
        ["sending_time_ns", "reading_time_ns"].iter().all(|times| results[times]["count"] == 1)
    };
    (0..50).map(|_| attempt()).find(is_stamped).expect("the kernel stamps")
}

fn is_stopped(process: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    threads.all(|thread| {
        fs::read_to_string(thread.path().join("status")).is_ok_and(|it| it.contains("State:\tT"))
    })
}

#[test]
fn the_time_of_a_response_in_the_kernel_is_attributed_to_the_generator() {
    let mut held = Duration::ZERO;
    let results = one(|stream, child| {
        signal(child.id(), "-STOP");
        while !is_stopped(child.id()) {
            thread::yield_now();
        }
        answer(stream);
        let begin = Instant::now();
        thread::sleep(HELD);
        held = begin.elapsed();
        signal(child.id(), "-CONT");
    });
    let [reading, service] = ["reading_time_ns", "service_time_ns"].map(|of| max(&results, of));
    assert!(reading * DIGITS >= held.as_secs_f64() * 1e9, "{held:?}: {results}");
    assert!(reading <= service * DIGITS, "{results}");
    let checks = results["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == "reading").unwrap();
    assert_eq!(found["is_well"], false, "{results}");
}

#[test]
fn a_stall_of_the_server_is_not_attributed_to_the_generator() {
    let mut stalled = Duration::ZERO;
    let results = one(|stream, _| {
        let begin = Instant::now();
        thread::sleep(HELD);
        stalled = begin.elapsed();
        answer(stream);
    });
    let [sending, reading, service] =
        ["sending_time_ns", "reading_time_ns", "service_time_ns"].map(|of| max(&results, of));
    let all = sending + stalled.as_secs_f64() * 1e9 + reading;
    assert!(all <= service * DIGITS, "{stalled:?}: {results}");
}

#[test]
fn every_response_has_a_timestamp_or_counts_as_unknown() {
    let load = "run --rate 500/s -n 100 -c 4 --warmup 50ms --kernel-timestamps --json -";
    let output = nanopace(load).output().unwrap();
    let (results, report) = (object(&output), String::from_utf8_lossy(&output.stderr));
    for times in ["sending_time_ns", "reading_time_ns"] {
        let known = results[times]["count"].as_u64().unwrap();
        let unknown = results[times]["unknown"].as_u64().unwrap_or(0);
        assert_eq!(known + unknown, results["completed"].as_u64().unwrap(), "{results}");
        assert!(known > 0 && max(&results, times) <= max(&results, "service_time_ns"), "{results}");
    }
    assert!(report.contains("     sending     reading\n"), "{report}");
    let without = nanopace("run --rate 500/s -n 3 --json -").output().unwrap();
    assert!(object(&without)["reading_time_ns"].is_null());
}

#[test]
fn a_requirement_can_limit_reading_times() {
    for (required, status) in [("max reading < 1ns", 3), ("p99 sending < 1h", 0)] {
        let mut run = nanopace("run --rate 100/s -n 5 --kernel-timestamps --fail-if");
        assert_eq!(run.arg(required).output().unwrap().status.code(), Some(status), "{required}");
    }
}

#[test]
fn connections_without_timestamps_are_rejected() {
    for (options, advice) in [
        ("--http2", "--kernel-timestamps works only with HTTP/1.1: leave --http2 out"),
        #[cfg(feature = "target-tls")]
        (
            "--target-tls",
            "--kernel-timestamps works only without TLS: write http://, or leave --target-tls",
        ),
        ("--url https://localhost/", "--kernel-timestamps works only without TLS: write http://"),
        (
            "--unix-socket /x --url http://a/",
            "--kernel-timestamps works only with TCP: leave --unix-socket",
        ),
    ] {
        for job in ["run", "search"] {
            let line = format!("{job} --kernel-timestamps {options}");
            let told = refusal(nanopace(&line).output().unwrap());
            assert!(told.contains(advice), "{line}: {told}");
        }
    }
    let told = nanopace("run --fail-if").arg("p99 reading < 1s").output().unwrap();
    assert!(refusal(told).contains("not measured; write --kernel-timestamps"));
}
