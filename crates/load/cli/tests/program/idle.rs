//! Connections that a server closes while they are idle, in the report and in the JSON object.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A server that answers two requests on each connection, and closes it when it has read a third one.
fn server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream));
        }
    });
    url
}

fn serve(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut requests = BufReader::new(stream);
    for number in 0.. {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if requests.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        if number == 2 {
            break;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nok")?;
    }
    stream.shutdown(Shutdown::Both)
}

fn run(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(["run", "--rate", "1M/s", "--timeout", "1min", "-c", "1", "-v", "--json", "-"]);
    command.args(options).stdin(Stdio::null()).output().unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn requests_that_are_sent_again_are_counted() {
    let url = server();
    let output = run(&["--url", &url, "-n", "12"]);
    let (results, report) = (object(&output), String::from_utf8_lossy(&output.stderr));
    assert_eq!((&results["completed"], &results["retried"]), (&12.into(), &5.into()), "{results}");
    let told = "\nretried   5 requests, because an idle connection was closed\n";
    assert!(output.status.success() && report.contains(told), "{report}");
}

#[test]
fn other_requests_fail_by_name() {
    let url = server();
    for options in [&["-X", "POST"][..], &["--no-retry-idle"]] {
        let output = run(&[&["--url", &url, "-n", "12"], options].concat());
        let results = object(&output);
        assert_eq!(results["failures"], serde_json::json!({"closed while idle": 4}), "{results}");
        assert_eq!((&results["completed"], &results["retried"]), (&8.into(), &0.into()));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("retried  "), "{output:?}");
    }
}

/// Each of them counts as the request that it is.
#[test]
fn steps_of_a_scenario_are_sent_again() {
    let url = server();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("idle.toml");
    let step = |name| format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"{url}\"\n");
    let scenario = ["[[scenario]]\nname = \"both\"\n".to_owned(), step("one"), step("other")];
    fs::write(&path, scenario.concat()).unwrap();
    let output = run(&["--scenario", path.to_str().unwrap(), "-n", "6", "--cookies"]);
    let results = object(&output);
    assert_eq!((&results["completed"], &results["retried"]), (&6.into(), &5.into()), "{results}");
}
