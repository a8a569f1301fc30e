//! Tests the report and the JSON object for connections that a server closes while they are idle.

use crate::command::object;
use crate::running::{file, output};
use crate::server::{Asked, serving};
use std::io::{BufReader, Write};
use std::net::Shutdown;

fn server() -> String {
    let address = serving(|mut stream, connection| {
        let mut requests = BufReader::new(stream.try_clone()?);
        for number in 0..3 {
            let asked = Asked::read(&mut requests, connection);
            if number < 2 && asked.is_some() {
                stream.write_all(
                    b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nok",
                )?;
            }
        }
        stream.shutdown(Shutdown::Both)
    });
    format!("http://{address}/")
}

const RUN: &str = "run --rate 1M/s --timeout 1min -c 1 -v --json -";

#[test]
fn requests_that_are_sent_again_are_counted() {
    let output = output(&format!("{RUN} --url {} -n 12", server()));
    let (results, report) = (object(&output), String::from_utf8_lossy(&output.stderr));
    assert_eq!((&results["completed"], &results["retried"]), (&12.into(), &5.into()), "{results}");
    let told = "\nretried   5 requests, because an idle connection was closed\n";
    assert!(output.status.success() && report.contains(told), "{report}");
}

#[test]
fn other_requests_fail_by_name() {
    let output = output(&format!("{RUN} --url {} -n 12 --no-retry-idle", server()));
    let results = object(&output);
    assert_eq!(results["failures"], serde_json::json!({"closed while idle": 4}), "{results}");
    assert_eq!((&results["completed"], &results["retried"]), (&8.into(), &0.into()));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("retried  "), "{output:?}");
}

#[test]
fn steps_of_a_scenario_are_sent_again() {
    let url = server();
    let step = |name| format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"{url}\"\n");
    let scenario = ["[[scenario]]\nname = \"both\"\n".to_owned(), step("one"), step("other")];
    let scenario = file("idle.toml", scenario.concat());
    let results = object(&output(&format!("{RUN} --scenario {scenario} -n 6 --cookies")));
    assert_eq!((&results["completed"], &results["retried"]), (&6.into(), &5.into()), "{results}");
}
