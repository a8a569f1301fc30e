//! Tests the control server: routes, rejected requests, slow and many clients, and a real Prometheus.

use crate::command::nanopace;
use crate::running::{file, refusal};
use crate::steered::Steered;
use crate::sums::assert_adds_up;
use crate::tls::{certificate, config};
use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

const LONG: [&str; 4] = ["--duration", "10min", "--control", "127.0.0.1:0"];
const TOKEN: &str = "0123456789abcdefghij";

fn long(options: &[&str]) -> Steered {
    Steered::start(&[&LONG[..], options].concat())
}

fn is_running(state: &Value) -> bool {
    state["phase"] == "running"
}

#[test]
fn every_route_responds() {
    let run = long(&["--rate", "300/s"]);
    let state = run.wait_until(is_running);
    assert_eq!(state["rate"], "300/s");
    assert_eq!(state["control"], format!("http://{}", run.address));
    for (path, body, key, expected) in [
        ("/rate", "200/s", "rate", json!("200/s")),
        ("/rate", " 1.5k/s\n", "rate", json!("1500/s")),
        ("/shape", "hold 100/s 1h", "shape", json!("hold 100/s 1h")),
        ("/rate", "7/min", "rate", json!("7/min")),
    ] {
        let answer = run.ask("PUT", path, &[], body.as_bytes());
        assert_eq!((answer.status, &answer.json()[key]), (200, &expected), "{body}: {answer:?}");
        let other = if key == "rate" { "shape" } else { "rate" };
        assert_eq!(run.status()[other], Value::Null);
    }
    for (path, phase) in
        [("/pause", "paused"), ("/pause", "paused"), ("/resume", "running"), ("/resume", "running")]
    {
        let answer = run.ask("POST", path, &[], b"");
        assert_eq!((answer.status, &answer.json()["phase"]), (200, &json!(phase)), "{path}");
    }
    for path in ["/status", "/metrics"] {
        let [head, get] = ["HEAD", "GET"].map(|method| run.ask(method, path, &[], b""));
        assert_eq!((head.status, head.body.as_str(), get.status), (200, "", 200));
        assert!(head.head.contains("\r\ncontent-length: ") && !get.body.is_empty(), "{head:?}");
        assert!(get.head.contains("\r\ncache-control: no-store"), "{get:?}");
    }
    assert_eq!(run.ask("POST", "/pause", &[], b"").json()["phase"], "paused");
    assert_adds_up(&run.stop(&[]).0);
}

#[test]
fn a_closed_loop_has_no_rate_to_change() {
    let run = long(&["--rate", "max", "-c", "1", "--target-latency", "1ms"]);
    run.wait_until(is_running);
    for (path, body) in [("/rate", "7/s"), ("/shape", "hold 1/s 1s")] {
        let answer = run.ask("PUT", path, &[], body.as_bytes());
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.body.contains("closed loop"), "{answer:?}");
    }
    let status = run.ask("GET", "/status", &[], b"").json();
    assert_eq!((&status["rate"], &status["backlog"]), (&json!("max"), &json!(0)), "{status}");
    for (path, phase) in [("/pause", "paused"), ("/resume", "running")] {
        assert_eq!(run.ask("POST", path, &[], b"").json()["phase"], json!(phase), "{path}");
    }
    assert_adds_up(&run.stop(&[]).0);
}

#[test]
fn a_rejected_command_changes_nothing() {
    let run = long(&["--rate", "123/s"]);
    run.wait_until(is_running);
    let large = vec![b'1'; 70_000];
    let none: &[&str] = &[];
    for (method, path, headers, body, status, told) in [
        ("GET", "/", none, &b""[..], 404, "/status"),
        ("GET", "/status/", none, b"", 404, "/status"),
        ("PUT", "/nothing", none, b"1/s", 404, "/status"),
        ("GET", "/rate", none, b"", 405, "PUT"),
        ("POST", "/rate", none, b"7/s", 405, "PUT"),
        ("PUT", "/status", none, b"7/s", 405, "GET or HEAD"),
        ("DELETE", "/metrics", none, b"", 405, "GET or HEAD"),
        ("OPTIONS", "/stop", none, b"", 405, "POST"),
        ("GET", "/stop", none, b"", 405, "POST"),
        ("PUT", "/pause", none, b"", 405, "POST"),
        ("PUT", "/rate", none, b"", 411, "no body"),
        ("PUT", "/rate", &["Content-Length: 0"], b"", 400, ""),
        ("PUT", "/rate", none, b"fast", 400, "not a rate"),
        ("PUT", "/rate", none, b"0/s", 400, ""),
        ("PUT", "/rate", none, b"-5/s", 400, ""),
        ("PUT", "/rate", none, b"NaN", 400, ""),
        ("PUT", "/rate", none, b"1e400/s", 400, ""),
        ("PUT", "/rate", none, b"7/s 8/s", 400, ""),
        ("PUT", "/rate", none, b"\xff\xfe", 400, "utf-8"),
        ("PUT", "/rate", none, "sieben \u{1f680}".as_bytes(), 400, ""),
        ("PUT", "/rate", none, &large[..], 413, "65536"),
        ("PUT", "/rate", &["Transfer-Encoding: chunked"], b"zz\r\n", 400, ""),
        ("PUT", "/rate", &["Content-Length: 10"], b"7/s", 400, ""),
        ("PUT", "/shape", none, b"hold 1/s", 400, "column 9"),
        ("PUT", "/shape", none, b"ramp 1/s..2/s 3s,", 400, "column 18"),
        ("PUT", "/shape", none, b"table:/etc/passwd", 400, "can't be a file"),
        ("PUT", "/shape", none, b" steps:/etc/passwd", 400, "can't be a file"),
        ("PUT", "/shape", none, b"{\"shape\": \"hold 1/s 1s\"}", 400, "column 1"),
        ("PUT", "/shape", none, b"", 411, "no body"),
        ("POST", "/stop", &["Origin: http://127.0.0.1"], b"", 403, "Origin"),
        ("GET", "/status", &["Origin: null"], b"", 403, "Origin"),
        ("POST", "/stop", &["Host: example.com"], b"", 403, "Host"),
        ("GET", "/metrics", &["Host: 127.0.0.1.example.com"], b"", 403, "Host"),
        ("POST", "http://example.com/stop", none, b"", 403, "Host"),
        ("POST", "/stop?now", none, b"", 400, "leave out ?now"),
        ("POST", "/stop?", none, b"", 400, "leave out ?"),
        ("POST", "/stop?load=all", none, b"", 400, "leave out ?load=all"),
        ("GET", "/metrics?name[]=x", none, b"", 400, "leave out ?name[]=x"),
    ] {
        let answer = run.ask(method, path, headers, body);
        let reason = answer.json()["error"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, status, "{method} {path} {headers:?}: {reason}");
        assert!(!reason.is_empty() && reason.contains(told), "{method} {path}: {reason}");
        assert_eq!(answer.head.contains("\r\nallow: "), status == 405, "{answer:?}");
    }
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes].concat();
    let chunked = [&chunk(&large)[..], b"\r\n0\r\n\r\n"].concat();
    assert_eq!(run.ask("PUT", "/rate", &["Transfer-Encoding: chunked"], &chunked).status, 413);
    for nonsense in [&b"\x16\x03\x01\x02\x00"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET"] {
        let mut stream = run.connect();
        stream.write_all(nonsense).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let head = format!("X: {}", "y".repeat(100_000));
    assert!(matches!(run.ask("GET", "/status", &[&head], b"").status, 400..500));
    let state = run.status();
    assert_eq!((&state["rate"], &state["phase"]), (&json!("123/s"), &json!("running")));
    let chunked =
        run.ask("PUT", "/rate", &["Transfer-Encoding: chunked"], b"4\r\n77/s\r\n0\r\n\r\n");
    assert_eq!((chunked.status, &chunked.json()["rate"]), (200, &json!("77/s")));
    run.stop(&[]);
}

#[test]
fn a_run_ends_with_the_last_shape_that_was_set() {
    for limit in
        [["--duration", "10min"], ["--requests", "1000000"], ["--shape", "hold 100/s 10min"]]
    {
        let run = Steered::start(&[&["--control", "127.0.0.1:0"][..], &limit].concat());
        run.wait_until(is_running);
        assert_eq!(run.ask("PUT", "/shape", &[], b"ramp 100/s..300/s 200ms").status, 200);
        let (results, _) = run.end();
        assert!(results["duration_seconds"].as_f64() < Some(500.0), "{results}");
        assert_adds_up(&results);
    }
}

#[test]
fn a_stalled_target_does_not_delay_the_control_server() {
    let stall = ["--target-stall", "10min@200ms", "--timeout", "10min", "-c", "4"];
    let run = long(&[&["--rate", "500/s"], &stall[..]].concat());
    run.wait_until(|state| state["in_flight"] == 4 && state["backlog"].as_u64() > Some(100));
    let metrics = run.ask("GET", "/metrics", &[], b"").body;
    assert!(metrics.contains("\nnanopace_requests_in_flight 4.0\n"), "{metrics}");
    let stopped = run.ask("POST", "/stop", &[], b"");
    assert_eq!((stopped.status, &stopped.json()["phase"]), (200, &json!("waiting-for-answers")));
    let state = run.wait_until(|state| state["unstarted"].as_u64() > Some(100));
    assert_eq!(
        (&state["backlog"], &run.status()["backlog"]),
        (&state["unstarted"], &state["unstarted"])
    );
    for (method, path) in [("PUT", "/rate"), ("POST", "/pause"), ("POST", "/resume")] {
        let answer = run.ask(method, path, &[], b"5/s");
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.body.contains("has ended"), "{answer:?}");
    }
    let metrics = run.ask("GET", "/metrics", &[], b"").body;
    assert!(metrics.contains("{phase=\"waiting-for-answers\"} 1.0\n"), "{metrics}");
    let (results, _) = run.stop(&[]);
    assert_eq!(results["unfinished"], 4);
    assert_adds_up(&results);
}

/// Starts a TLS server that responds to one request, and completes no other handshake.
fn server_that_falls_silent() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let session = ServerConnection::new(config(&certificate(), None).into()).unwrap();
    thread::spawn(move || {
        let mut stream = StreamOwned::new(session, listener.accept().unwrap().0);
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        let silent: Vec<_> = listener.incoming().collect();
        drop(silent);
    });
    url
}

#[test]
fn a_run_that_has_not_started_can_only_be_stopped() {
    let patient = ["--timeout", "10min", "--connect-timeout", "10min", "--insecure", "-c", "4"];
    let run = long(&[&["--url", &server_that_falls_silent()], &patient[..]].concat());
    assert_eq!(run.status()["phase"], "preparing");
    assert!(run.ask("GET", "/metrics", &[], b"").body.contains("{phase=\"preparing\"} 1.0\n"));
    for (method, path, body) in [("PUT", "/rate", "5/s"), ("POST", "/pause", "")] {
        let answer = run.ask(method, path, &[], body.as_bytes());
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.body.contains("repeat this command when GET /status returns"), "{answer:?}");
    }
    let (results, _) = run.stop(&[]);
    assert_adds_up(&results);
    assert_eq!(results["due"], 0);
}

#[test]
fn only_requests_with_the_token_are_accepted() {
    let token = file("token", format!("  {TOKEN} \nsecond line\n"));
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let options = ["--rate", "100/s", "--control-token-file", &token, "--control", address];
        let run = Steered::start(&[&LONG[..2], &LONG[4..], &options].concat());
        let bearer = format!("Authorization: Bearer {TOKEN}");
        run.wait_until_with(&[&bearer], is_running);
        let short = &bearer[..bearer.len() - 1];
        for headers in [&[][..], &[short], &["Authorization: Basic x"], &["Cookie: x"]] {
            for (method, path) in
                [("GET", "/status"), ("GET", "/metrics"), ("POST", "/stop"), ("GET", "/x")]
            {
                let answer = run.ask(method, path, headers, b"");
                assert_eq!(answer.status, 401, "{headers:?} {path}");
                assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
                assert!(!answer.body.contains(TOKEN), "{answer:?}");
            }
        }
        // Clients from outside may use any name for this machine.
        let named = [&*bearer, "Host: load.example.com"];
        assert_eq!(run.ask("PUT", "/rate", &named, b"7/s").json()["rate"], "7/s");
        let page = [&*bearer, "Origin: http://example.com"];
        assert_eq!(run.ask("POST", "/stop", &page, b"").status, 403);
        let (results, stderr) = run.stop(&[&bearer]);
        assert!(!format!("{results}{stderr}").contains(TOKEN), "{stderr}");
    }
}

#[test]
fn an_unusable_listen_address_is_reported_before_anything_starts() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let [long, short] =
        [("long", TOKEN), ("short", "hunter2")].map(|(name, token)| file(name, token));
    let [long, short] = [&*long, &*short];
    for (options, told) in [
        (&["--control", &taken][..], &*taken),
        (&["--control", "0.0.0.0:0"], "--control-token-file"),
        (&["--control", "[::]:0"], "--control-token-file"),
        (&["--control", "[::ffff:1.2.3.4]:0"], "--control-token-file"),
        (&["--control", "192.0.2.1:9", "--control-token-file", long], "192.0.2.1:9"),
        (&["--control", "9100"], "127.0.0.1:9100"),
        (&["--control", "127.0.0.1:99999"], "--control"),
        (&["--control-token-file", long], "--control"),
        (&["--control", "127.0.0.1:0", "--control-token-file", "/nonexistent/t"], "/nonexistent/t"),
        (&["--control", "127.0.0.1:0", "--control-token-file", short], "at least 16"),
        (
            &["--control", "127.0.0.1:0", "--control-token-file", long, "--json", long],
            "--control-token-file reads this file",
        ),
        (
            &["--control", "127.0.0.1:0", "--control-token-file", long, "--hdr", long],
            "--control-token-file reads this file",
        ),
    ] {
        let stderr = refusal(nanopace("run").args(options).output().unwrap());
        assert!(stderr.contains(told) && !stderr.contains("hunter2"), "{options:?}: {stderr}");
    }
    assert_eq!(fs::read_to_string(long).unwrap(), TOKEN);
}

fn fed(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is on PATH");
    // The program may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

const OPEN_METRICS_READER: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(*sorted(family.name for family in text_string_to_metric_families(sys.stdin.read())))
";

#[test]
#[ignore = "needs promtool, and prometheus_client for Python"]
fn readers_of_prometheus_read_the_metrics() {
    let run = long(&["--rate", "500/s", "--target-errors", "20%"]);
    run.wait_until(|state| state["failed"].as_u64() > Some(0));
    let plain = run.ask("GET", "/metrics", &[], b"");
    assert!(plain.head.contains("content-type: text/plain; version=0.0.4"), "{}", plain.head);
    let accept = ["Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.3"];
    let open = run.ask("GET", "/metrics", &accept, b"");
    assert!(open.head.contains("application/openmetrics-text; version=1.0.0"), "{}", open.head);
    assert!(open.body.ends_with("\n# EOF\n") && !plain.body.contains("# EOF"));
    for part in ["_total{kind=\"status\"} ", "_wait_seconds_bucket{le=\"+Inf\"} ", "_build_info{"] {
        assert!(plain.body.contains(part) && open.body.contains(part), "{part}");
    }
    let checked = fed(Command::new("promtool").args(["check", "metrics"]), &plain.body);
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
    let read = fed(Command::new("python3").args(["-c", OPEN_METRICS_READER]), &open.body);
    assert!(read.status.success(), "{read:?}");
    let names = String::from_utf8(read.stdout).unwrap();
    assert!(names.contains("nanopace_response_seconds"), "{names}");
    run.stop(&[]);
}

#[test]
#[ignore = "needs curl"]
fn the_examples_of_the_manual_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/run/how-to.md");
    let page = fs::read_to_string(page).unwrap();
    let lines: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("$ curl ")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    let run = long(&["--rate", "100/s"]);
    run.wait_until(is_running);
    for line in lines {
        let line = line.replace("127.0.0.1:9100", &run.address);
        let script = format!("curl --silent --show-error --fail-with-body {line}");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{line}: {output:?}");
    }
    assert_adds_up(&run.end().0);
}
