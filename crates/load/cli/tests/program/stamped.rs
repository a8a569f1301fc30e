//! What a run with `--kernel-timestamps` tells of the generator's own part of the service time.

use crate::faults::{object, signal};
use crate::refusal::refusal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long the server or the generator does nothing.
const HELD: Duration = Duration::from_millis(400);
/// Histograms have three digits.
const DIGITS: f64 = 1.002;

fn program(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command
}

fn run(line: &str) -> (Value, String) {
    let output = program(&format!("run {line} --kernel-timestamps --json -")).output().unwrap();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {report}");
    (object(&output), report)
}

/// The longest of these times, in nanoseconds.
fn max(results: &Value, times: &str) -> f64 {
    results[times]["max"].as_f64().unwrap_or_else(|| panic!("{times}: {results}"))
}

/// Connections, each when the head of a request has been read on it.
fn server() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, asked) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut lines =
                    BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                while lines.by_ref().take_while(|line| !line.is_empty()).count() > 0 {
                    sender.send(stream.try_clone().unwrap()).unwrap();
                }
            });
        }
    });
    (url, asked)
}

fn answer(mut stream: &TcpStream) {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
}

/// The results of a run of one request, which `serve` answers. Another one was sent before the run. The kernel begins
/// to stamp when it finds time for that, so a run without stamps is followed by another one.
fn one(mut serve: impl FnMut(&TcpStream, &Child)) -> Value {
    let mut attempt = || {
        let (url, asked) = server();
        let line = format!("run {url} -n 1 --rate 10/s -c 1 --kernel-timestamps --json -");
        let child = program(&line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        answer(&asked.recv().unwrap());
        serve(&asked.recv().unwrap(), &child);
        object(&child.wait_with_output().unwrap())
    };
    let is_stamped = |results: &Value| {
        ["sending_time_ns", "reading_time_ns"].iter().all(|times| results[times]["count"] == 1)
    };
    (0..50).map(|_| attempt()).find(is_stamped).expect("the kernel stamps")
}

/// Whether all threads of a process stand still.
fn is_stopped(process: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    threads.all(|thread| {
        fs::read_to_string(thread.path().join("status")).is_ok_and(|it| it.contains("State:\tT"))
    })
}

#[test]
fn an_answer_that_lies_in_the_kernel_is_the_generators_part() {
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
fn a_stall_of_the_server_is_not_the_generators_part() {
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
fn every_answer_is_stamped_or_counted() {
    let (results, report) = run("--rate 500/s -n 100 -c 4 --warmup 50ms");
    for times in ["sending_time_ns", "reading_time_ns"] {
        let known = results[times]["count"].as_u64().unwrap();
        let unknown = results[times]["unknown"].as_u64().unwrap_or(0);
        assert_eq!(known + unknown, results["completed"].as_u64().unwrap(), "{results}");
        assert!(known > 0 && max(&results, times) <= max(&results, "service_time_ns"), "{results}");
    }
    assert!(report.contains("     sending     reading\n"), "{report}");
    let without = program("run --rate 500/s -n 3 --json -").output().unwrap();
    assert!(object(&without)["reading_time_ns"].is_null());
}

/// Nobody stamps the end of a connection.
#[test]
fn an_answer_that_ends_with_its_connection_is_unknown() {
    let (url, asked) = server();
    thread::spawn(move || {
        for mut stream in asked {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok").unwrap();
            stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
    let (results, report) = run(&format!("{url} --rate 100/s -n 5 -v"));
    assert_eq!(results["reading_time_ns"]["unknown"], 5, "{results}");
    assert!(report.contains("caution   the kernel stamped none of 5 responses"), "{report}");
}

/// No answer came whole.
#[test]
fn what_fails_is_not_even_unknown() {
    let (url, asked) = server();
    thread::spawn(move || {
        for (number, mut stream) in asked.iter().enumerate() {
            if number == 0 {
                answer(&stream);
            } else {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no").unwrap();
                stream.shutdown(std::net::Shutdown::Both).unwrap();
            }
        }
    });
    let (results, report) = run(&format!("{url} --rate 100/s -n 5 --fail-if errors=100%"));
    assert_eq!(results["failed"], 5, "{results}");
    for times in ["sending_time_ns", "reading_time_ns"] {
        assert_eq!(results[times]["count"], 0, "{results}");
        assert!(results[times]["unknown"].is_null(), "{results}");
    }
    assert!(!report.contains("unknown"), "{report}");
}

#[test]
fn what_is_required_may_be_about_reading() {
    for (required, status) in [("max reading < 1ns", 3), ("p99 sending < 1h", 0)] {
        let mut run = program("run --rate 100/s -n 5 --kernel-timestamps --fail-if");
        assert_eq!(run.arg(required).output().unwrap().status.code(), Some(status), "{required}");
    }
}

#[test]
fn what_has_no_stamps_is_refused() {
    for (options, advice) in [
        ("--http2", "--kernel-timestamps is for HTTP/1.1: leave --http2 out"),
        (
            "--target-tls",
            "--kernel-timestamps is for plain TCP: write http://, or leave --target-tls",
        ),
        ("--url https://localhost/", "--kernel-timestamps is for plain TCP: write http://"),
        ("--unix-socket /x --url http://a/", "--kernel-timestamps is for TCP: leave --unix-socket"),
    ] {
        for job in ["run", "search"] {
            let line = format!("{job} --kernel-timestamps {options}");
            let told = refusal(program(&line).output().unwrap());
            assert!(told.contains(advice), "{line}: {told}");
        }
    }
    let told = program("run --fail-if").arg("p99 reading < 1s").output().unwrap();
    assert!(refusal(told).contains("not timed; write --kernel-timestamps"));
}
