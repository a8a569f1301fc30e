//! Tests `nanopace witness` with `nanopace run` as its load. No test asserts a measured time.

use crate::command::{nanopace, object, scratch, signal};
use crate::running::{output, refusal};
use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

struct Witness {
    child: Child,
    url: String,
    stderr: BufReader<ChildStderr>,
}

fn line(options: &str) -> String {
    format!("witness --listen 127.0.0.1:0 --json - {options}")
}

fn witness(options: &str) -> Witness {
    started(nanopace(&line(options)))
}

fn started(mut command: Command) -> Witness {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    let url = first.strip_prefix("listening on ").unwrap().split(';').next().unwrap().to_owned();
    Witness { child, url, stderr }
}

impl Witness {
    fn load(&self, options: &str) {
        let run = nanopace(&format!("run {} {options} --quiet", self.url)).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.url.trim_start_matches("http://").trim_end_matches('/')).unwrap()
    }

    fn end(mut self) -> (Value, String, Output) {
        let mut report = String::new();
        self.stderr.read_to_string(&mut report).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (object(&output), report, output)
    }
}

#[test]
fn each_request_of_a_run_is_counted() {
    let svg = scratch("witness.svg");
    let witness = witness(&format!("--expect 500/s --warmup 0s --svg {}", svg.display()));
    witness.load("--rate 500/s --requests 200 -X POST -d body");
    signal(witness.child.id(), "-INT");
    let (found, report, output) = witness.end();
    // The run sends one request before its schedule starts.
    assert_eq!((&found["requests"], output.status.code()), (&201.into(), Some(0)), "{report}");
    assert_eq!(found["bursts"].as_array().map(Vec::len), Some(2));
    assert!(found["lateness_ns"]["max"].is_f64() && found["distance"].is_f64());
    let stamps = if cfg!(target_os = "linux") { "kernel" } else { "program" };
    assert_eq!(found["timestamps"], stamps, "{report}");
    for part in ["requests  201 requests in ", "\ngaps ", "\nlateness ", "\nbursts ", "\nstamps "] {
        assert!(report.contains(part), "{report}");
    }
    let text = fs::read_to_string(&svg).unwrap();
    let picture = Document::parse(&text).unwrap();
    assert!(picture.descendants().filter(|node| node.has_tag_name("polyline")).count() >= 2);
}

#[test]
fn a_measurement_ends_after_its_requests_or_an_interrupt() {
    let enough = witness("--expect 500/s --arrivals poisson --warmup 0s -n 150");
    enough.load("--rate 500/s --arrivals poisson --requests 200");
    let (found, report, _) = enough.end();
    assert_eq!((&found["requests"], &found["lateness_ns"]), (&150.into(), &Value::Null));
    assert!(found["distance"].is_f64() && report.contains("Poisson"), "{report}");
    assert!(found["correlation"].is_f64(), "{found}");
    let checks = found["checks"].as_array().unwrap();
    assert_eq!(checks.last().unwrap()["check"], "starts");
    for check in checks {
        assert!(report.contains(check["text"].as_str().unwrap()), "{check}: {report}");
    }

    let interrupted = witness("--expect 500/s");
    signal(interrupted.child.id(), "-INT");
    let (found, report, output) = interrupted.end();
    assert_eq!((&found["requests"], output.status.code()), (&0.into(), Some(4)));
    assert!(report.contains("no request arrived"), "{report}");
}

#[test]
fn requests_that_are_read_together_are_counted() {
    let witness = witness("--expect 500/s --warmup 0s -n 12");
    let mut client = witness.connect();
    client.write_all("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(12).as_bytes()).unwrap();
    let (found, report, _) = witness.end();
    assert_eq!(found["shared_timestamps"], 11, "{report}");
    assert!(report.contains("all requests have the same arrival time"), "{report}");
    let told = "caution   11 requests read together with an earlier request: all have the time of the last byte";
    assert!(report.contains(told), "{report}");
}

#[test]
fn a_measurement_without_requests_ends_with_status_4() {
    let svg = scratch("absent.svg");
    let options = format!("--expect 5 --warmup 0s -z 1ms --svg {}", svg.display());
    let (found, report, output) = witness(&options).end();
    assert_eq!((&found["requests"], output.status.code()), (&0.into(), Some(4)), "{report}");
    assert_eq!(found["checks"], Value::Array(Vec::new()));
    assert!(!svg.exists() && report.contains("--svg: no picture: no request arrived"), "{report}");
    assert!(report.contains("no request arrived after the warm-up"), "{report}");
}

#[cfg(unix)]
#[test]
fn the_limit_of_open_files_is_reported_once() {
    let mut command = Command::new("sh");
    let exec = format!("ulimit -n 40 && exec \"$0\" {}", line("--expect 5 --warmup 0s"));
    command.args(["-c", &exec, env!("CARGO_BIN_EXE_nanopace")]);
    let mut witness = started(command);
    let clients: Vec<_> = (0..40).map(|_| witness.connect()).collect();
    let is_told = |line: &str| line.contains("too many open files (EMFILE): new connections have");
    assert!(witness.stderr.by_ref().lines().any(|line| is_told(&line.unwrap())));
    drop(clients);
    let mut client = witness.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(client.read(&mut [0; 9]).unwrap() > 0);
    signal(witness.child.id(), "-INT");
    let (_, report, _) = witness.end();
    assert!(!report.contains("EMFILE") && report.contains("too few requests"), "{report}");
}

#[test]
fn an_invalid_command_prints_one_line_and_has_status_2() {
    for (options, told) in [
        ("", "--expect"),
        ("--expect max", "--expect"),
        ("--expect 0", "write a positive rate such as 1/h\n"),
        ("--expect 5 --arrivals gamma:1", "--arrivals"),
        ("--expect 5 --listen here", "write an address and a port, as in 127.0.0.1:9100"),
        (
            "--expect 5 --listen 192.0.2.1:80",
            "--listen 192.0.2.1:80: cannot listen on this address",
        ),
        ("--expect 5 --json - --svg -", "--json and --svg have the same file"),
        ("--expect 5 -z 0s", "longer than zero"),
    ] {
        let stderr = refusal(output(&format!("witness {options}")));
        assert!(stderr.contains(told), "{options}: {stderr}");
    }
}
