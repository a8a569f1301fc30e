//! Tests limits of the system: the stack, and open files, whose limit a run raises if possible.

#![cfg(unix)]

use crate::command::object;
use crate::running::{file, refusal, side_by_side};
use crate::server::server;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn run(before: &str, args: &str) -> Output {
    let mut command = Command::new("sh");
    let exec = format!("{before} && exec \"$0\" {args}");
    command.args(["-c", &exec, env!("CARGO_BIN_EXE_nanopace")]);
    command.stdin(Stdio::null()).output().unwrap()
}

fn results(output: &Output) -> Value {
    let results = object(output);
    assert_eq!((&results["failed"], &results["unfinished"]), (&0.into(), &0.into()), "{results}");
    results
}

fn ten_servers() -> String {
    let (address, _) = server();
    let port = address.rsplit(':').next().unwrap();
    let hosts = || (0..10).map(|host| format!("h{host}.invalid:{port}"));
    let targets: Vec<_> = hosts().map(|host| format!("GET http://{host}/\n\n")).collect();
    let resolve: Vec<_> = hosts().map(|host| format!(" --resolve={host}:127.0.0.1")).collect();
    let targets = file(&format!("servers-{port}.txt"), targets.concat());
    format!("--targets {targets}{}", resolve.concat())
}

const LOAD: &str = "--rate 2k/s -n 700 --json -";

#[test]
fn the_limit_is_raised_for_all_servers() {
    let results = results(&run("ulimit -S -n 100", &format!("run -c 30 {LOAD} {}", ten_servers())));
    assert!(results["set_up_time_ns"]["count"].as_u64().unwrap() >= 300, "{results}");
}

#[test]
fn the_error_for_a_low_limit_says_what_to_write() {
    let servers = ten_servers();
    let cases = [
        ("run", "", 400 * 2),
        #[cfg(feature = "target-tls")]
        ("run", "--target-tls", 400 * 2),
        ("run", "--http2 --streams 4", 400 / 4 * 2),
        ("run", &servers, 400 * 10),
        // The rate is low, because a backlog from a step's warm-up could keep all recorded requests from starting.
        ("search", "--from 50/s --until 'p50 response < 1h' --step 1s --max-steps 2", 400 * 2),
    ];
    side_by_side(cases, |(command, options, sockets)| {
        let of = |connections: &str| -> Output {
            let load = if command == "run" { LOAD } else { "--json -" };
            let args = format!("{command} --threads 2 -c {connections} {options} {load}");
            run("ulimit -n 200", &args)
        };
        let needs = sockets + 50 + 2 * 8;
        let told = refusal(of("400"));
        let begin = format!(
            "error: 400 connections would need {needs} open files, and the hard limit is 200: raise it (as root: ulimit -n {needs}), or \
             use "
        );
        let rest = told.strip_prefix(&begin).unwrap_or_else(|| panic!("{told}"));
        let most = rest.strip_suffix(" connections at most\n").unwrap();
        let output = of(most);
        if command == "run" {
            results(&output);
        } else {
            let results = object(&output);
            let mut steps = results["steps"].as_array().unwrap().iter();
            let is_good = |step: &Value| {
                let has_started = step["achieved_rate"].as_f64().unwrap() > 0.0;
                has_started && step["failures"].as_object().unwrap().is_empty()
            };
            assert!(steps.all(is_good), "{results}");
        }
        let more = (most.parse::<u32>().unwrap() + 1).to_string();
        assert!(refusal(of(&more)).contains(&format!("use {most} connections")), "{options}");
    });
}

#[test]
fn without_room_for_one_connection_nothing_smaller_is_advised() {
    let told = refusal(run("ulimit -n 40", "run -c 2 --threads 1"));
    let all = "error: 2 connections would need 62 open files, and the hard limit is 40: raise it (as root: ulimit -n 62)\n";
    assert_eq!(told, all);
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_limit_of_the_stack_is_enough() {
    for line in ["--version", "run --requests 10 --rate 1k", "plan --rate 5/s --duration 1s"] {
        let output = run("ulimit -s 64", line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
}
