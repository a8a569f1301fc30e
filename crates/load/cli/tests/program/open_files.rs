//! The limit of open files: raised to what a run needs, or the run is refused.

#![cfg(unix)]

use crate::beside::side_by_side;
use crate::refusal::refusal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Runs the program in a shell, after another command.
fn run(before: &str, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    let exec = format!("{before} && exec \"$0\" \"$@\"");
    command.args(["-c", &exec, env!("CARGO_BIN_EXE_nanopace")]);
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// The results of a run in which no request failed.
fn results(output: &Output) -> Value {
    let results: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!((&results["failed"], &results["unfinished"]), (&0.into(), &0.into()), "{results}");
    results
}

fn serve(stream: &TcpStream) -> Option<()> {
    let mut requests = BufReader::new(stream);
    let mut line = String::new();
    while requests.read_line(&mut line).ok()? > 0 {
        if line == "\r\n" {
            (&mut &*stream).write_all(b"HTTP/1.1 204 No Content\r\n\r\n").ok()?;
        }
        line.clear();
    }
    None
}

/// A file of requests to one server under ten names, and the options that resolve the names.
fn ten_servers() -> (PathBuf, Vec<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream));
        }
    });
    let hosts = || (0..10).map(|host| format!("h{host}.invalid:{port}"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("servers-{port}.txt"));
    let targets: Vec<_> = hosts().map(|host| format!("GET http://{host}/\n\n")).collect();
    fs::write(&path, targets.concat()).unwrap();
    (path, hosts().map(|host| format!("--resolve={host}:127.0.0.1")).collect())
}

const LOAD: [&str; 6] = ["--rate", "2k/s", "-n", "700", "--json", "-"];

/// 30 connections to each of ten servers.
#[test]
fn the_limit_is_raised_for_all_servers() {
    let (path, resolve) = ten_servers();
    let args = ["run", "-c", "30", "--targets", path.to_str().unwrap()];
    let args: Vec<_> =
        args.into_iter().chain(LOAD).chain(resolve.iter().map(String::as_str)).collect();
    let results = results(&run("ulimit -S -n 100", &args));
    let opened = results["set_up_time_ns"]["count"].as_u64().unwrap();
    assert!(opened >= 300, "{results}");
}

/// The number in the message fits the limit, and one more does not.
#[test]
fn a_limit_that_is_too_low_is_refused_with_what_to_write() {
    let (path, resolve) = ten_servers();
    let servers = ["--targets", path.to_str().unwrap()];
    let servers: Vec<_> = servers.into_iter().chain(resolve.iter().map(String::as_str)).collect();
    let cases: &[(&str, &[&str], u64)] = &[
        ("run", &[], 400 * 2),
        #[cfg(feature = "target-tls")]
        ("run", &["--target-tls"], 400 * 2),
        ("run", &["--http2", "--streams", "4"], 400 / 4 * 2),
        ("run", &servers, 400 * 10),
        ("search", &["--from", "2k/s", "--step", "200ms", "--max-steps", "2"], 400 * 2),
    ];
    side_by_side(cases.iter().copied(), |(command, options, sockets)| {
        let of = |connections: &str| -> Output {
            let load = if command == "run" { &LOAD[..] } else { &LOAD[4..] };
            let args = [&[command, "--threads", "2", "-c", connections], options, load].concat();
            run("ulimit -n 200", &args)
        };
        let needs = sockets + 50 + 2 * 8;
        let told = refusal(of("400"));
        let begin = format!(
            "error: 400 connections need {needs} open files, and 200 are allowed: raise the limit (ulimit -n {needs}), or \
             use "
        );
        let rest = told.strip_prefix(&begin).unwrap_or_else(|| panic!("{told}"));
        let most = rest.strip_suffix(" connections at most\n").unwrap();
        let output = of(most);
        if command == "run" {
            results(&output);
        } else {
            let results: Value = serde_json::from_slice(&output.stdout).unwrap();
            // On a busy machine a step may be over before any of its requests starts.
            let mut steps = results["steps"].as_array().unwrap().iter();
            let has_none = |step: &Value| step["failures"].as_object().unwrap().is_empty();
            assert!(steps.all(has_none), "{results}");
        }
        let more = (most.parse::<u32>().unwrap() + 1).to_string();
        assert!(refusal(of(&more)).contains(&format!("use {most} connections")), "{options:?}");
    });
}

#[test]
fn without_room_for_one_connection_nothing_smaller_is_advised() {
    let told = refusal(run("ulimit -n 40", &["run", "-c", "2", "--threads", "1"]));
    let all = "error: 2 connections need 62 open files, and 40 are allowed: raise the limit (ulimit -n 62)\n";
    assert_eq!(told, all);
}
