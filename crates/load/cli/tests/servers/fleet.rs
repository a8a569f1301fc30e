//! Tests fleets with real stores. By default, the tests that need a store are ignored.

use crate::command::{nanopace, object, scratch, signal};
use nanopace_services::{Product, Server};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Lets the tests run one at a time, because several fleets would compete for CPU time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn node(server: &Server, options: &str) -> Child {
    let line = format!("run --run test -c 4 --threads 1 --json - {options}");
    let mut command = nanopace(&line);
    command.env("NANOPACE_STORE", server.url()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn ended(child: Child) -> (Output, Value) {
    let output = child.wait_with_output().unwrap();
    let results = object(&output);
    (output, results)
}

fn read_until(child: &mut Child, text: &str) -> BufReader<ChildStderr> {
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let (mut all, mut line) = (String::new(), String::new());
    while !line.contains(text) {
        line.clear();
        assert_ne!(progress.read_line(&mut line).unwrap(), 0, "{text}: {all}");
        all += &line;
    }
    progress
}

fn asked(server: &Server, line: &str) -> String {
    let output = nanopace(line).env("NANOPACE_STORE", server.url()).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn report(server: &Server, options: &[&str]) -> Output {
    let mut command = nanopace("fleet report test");
    command.args(options).env("NANOPACE_STORE", server.url()).output().unwrap()
}

fn wait_until(server: &Server, is_so: impl Fn(&Value) -> bool) -> Value {
    wait_until_told(server, "status", is_so)
}

fn wait_until_told(server: &Server, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let mut command = nanopace(&format!("fleet {what} test --json -"));
        let output = command.env("NANOPACE_STORE", server.url()).output().unwrap();
        let state = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        if !state.is_null() && is_so(&state) {
            return state;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{state}: {output:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the results of the whole fleet. All nodes that were present at the end must report the same number of started
/// slots.
fn whole(nodes: &[(Output, Value)]) -> &Value {
    let seen =
        nodes.iter().filter_map(|(output, it)| Some((output.status.code(), it.get("fleet")?)));
    let seen: Vec<_> = seen.collect();
    let account = &seen[0].1["account"];
    let is_exact = account["closes"] == true && account["lost"] == 0 && account["twice"] == 0;
    for (status, whole) in &seen {
        assert_eq!(&whole["account"]["fired"], &account["fired"], "{nodes:?}");
        assert_eq!(*status, Some(if is_exact { 0 } else { 3 }), "{account}");
    }
    seen[0].1
}

fn sum(nodes: &[(Output, Value)], name: &str) -> u64 {
    nodes.iter().map(|(_, results)| results[name].as_u64().unwrap()).sum()
}

/// The store that these tests use. The program behaves the same with all stores, and the tests of the fleet crate cover
/// all of them.
const ONE_ENGINE: Product = Product::Redis;

fn http_server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut answers = stream.try_clone().unwrap();
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                for _ in lines.filter(String::is_empty) {
                    answers.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                }
            });
        }
    });
    address
}

#[test]
#[ignore = "needs Redis"]
fn labels_of_all_nodes_are_added_up() {
    let _alone = alone();
    let server = Server::with(ONE_ENGINE).start().unwrap();
    let (address, folder) = (http_server(), TempDir::new().unwrap());
    let (targets, page) = (folder.path().join("targets"), folder.path().join("page.html"));
    let lines = ["a", "b", "c"].map(|name| format!("GET http://{address}/{name}\n\n"));
    fs::write(&targets, lines.concat()).unwrap();
    let options =
        format!("--nodes 2 --rate 200/s --duration 1s --targets {}", targets.to_str().unwrap());
    let nodes: Vec<_> = (0..2).map(|_| node(&server, &options)).collect();
    let nodes: Vec<_> = nodes.into_iter().map(ended).collect();
    let whole = whole(&nodes);
    let label = |of: &Value, name: &str| {
        of["labels"][format!("GET http://{address}/{name} 204")]["completed"].as_u64().unwrap_or(0)
    };
    for name in ["a", "b", "c"] {
        let each: Vec<_> = nodes.iter().map(|(_, results)| label(results, name)).collect();
        assert_eq!(label(whole, name), each.iter().sum::<u64>(), "{whole}");
    }
    let all = ["a", "b", "c"].map(|name| label(whole, name));
    assert_eq!(whole["completed"], all.iter().sum::<u64>(), "{whole}");
    // The nodes share the slots. Every third slot of the whole load uses the first target, so the numbers of all
    // targets are nearly equal.
    let account = &whole["account"];
    if account["lost"] == 0 && account["twice"] == 0 {
        assert_eq!(all, [67, 67, 66], "{whole}");
    }
    let output = report(&server, &["-v", "--html", page.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("\nlabel     GET http://{address}/a 204: ")), "{text}");
    assert!(fs::read_to_string(page).unwrap().contains("id=\"labels\""), "{text}");
}

/// Each response of the target consists of one line. On Linux, the responses have kernel timestamps.
#[test]
#[ignore = "needs Redis"]
fn times_of_response_parts_are_added_up_over_all_nodes() {
    let _alone = alone();
    let server = Server::with(ONE_ENGINE).start().unwrap();
    let options = "--nodes 2 --rate 200/s --duration 1s --items lines";
    let is_stamped = cfg!(target_os = "linux");
    let stamped = is_stamped.then_some("reading_time_ns");
    let options = format!("{options}{}", if is_stamped { " --kernel-timestamps" } else { "" });
    let nodes: Vec<_> = (0..2).map(|_| node(&server, &options)).collect();
    let nodes: Vec<_> = nodes.into_iter().map(ended).collect();
    let whole = whole(&nodes);
    for name in ["first_byte_time_ns", "first_item_response_time_ns"].into_iter().chain(stamped) {
        let count = |of: &Value| of[name]["count"].as_u64().unwrap();
        let each = nodes.iter().map(|(_, results)| count(results));
        assert!(count(whole) > 0 && count(whole) == each.sum::<u64>(), "{name}: {whole}");
    }
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let output =
        report(&server, &["--fail-if", "max first-item < 1ns", "--html", page.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("missed    max first-item is ") && text.contains("item gaps"), "{text}");
    assert!(fs::read_to_string(page).unwrap().contains("first item"), "{text}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn four_nodes_make_one_load() {
    let _alone = alone();
    for product in Product::ALL {
        let server = Server::with(product).password("secret").start().unwrap();
        let options = "--nodes 4 --rate 400/s --duration 2s --fail-if ratio>0.5";
        let nodes: Vec<_> = (0..4).map(|_| node(&server, options)).collect();
        let nodes: Vec<_> = nodes.into_iter().map(ended).collect();
        let whole = whole(&nodes);
        let account = &whole["account"];
        assert!(nodes.iter().all(|(_, results)| results.get("fleet").is_some()), "{nodes:?}");
        for (output, results) in &nodes {
            assert!(!format!("{output:?}{results}").contains("secret"), "{results}");
        }
        assert_eq!(account["expected"], 800, "{whole}");
        assert_eq!(account["closes"], true, "{whole}");
        // On a busy machine, the store may seem unavailable. Slots that start twice because of this are counted.
        let started = account["fired"].as_u64().unwrap();
        assert_eq!(
            (sum(&nodes, "started"), &whole["started"]),
            (started, &started.into()),
            "{whole}"
        );
        assert_eq!(whole["completed"], sum(&nodes, "completed"));
        assert_eq!(whole["wait_time_ns"]["count"], started);
        assert_eq!(whole["nodes_with_results"], 4);
        let lost_and_twice = [&account["lost"], &account["twice"]].map(|n| n.as_i64().unwrap());
        assert_eq!(started.cast_signed() + lost_and_twice[0] - lost_and_twice[1], 800, "{whole}");
        let again = report(&server, &[]);
        assert_eq!(again.status.code(), nodes[0].0.status.code(), "{again:?}");
        let again = String::from_utf8(again.stdout).unwrap();
        let account = format!("account   closes: 800 expected = {started} started + 0 skipped + ");
        assert!(again.contains(&account) && !again.contains("secret"), "{again}");
        is_brief(&again, nodes[0].0.status.success());
    }
}

/// The percentiles of 800 requests are those of a brief report: with too few requests, there is no p99.9.
fn is_brief(report: &str, is_exact: bool) {
    let lines: Vec<_> = report.lines().collect();
    let inexact = "Some slots were lost or started twice";
    assert_eq!(lines[0] == inexact, !is_exact, "{report}");
    assert!(lines[1].starts_with("fleet     test: 4 nodes, "), "{report}");
    assert!(lines.len() <= 16 && !report.contains("uncorrected"), "{report}");
    let percentiles = lines.iter().filter_map(|line| line.split_once(' '));
    let names = percentiles.map(|(name, _)| name).filter(|name| name.starts_with('p'));
    assert_eq!(names.collect::<Vec<_>>(), ["p50", "p90", "p99"], "{report}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_account_includes_a_killed_node() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let options = "--nodes 2 --rate 200/s --duration 6s";
    let [mut killed, other] = [(); 2].map(|()| node(&server, options));
    let has_told = |node: &Value| node["until_seconds"].as_f64().unwrap() > 1.0;
    let has_started = |node: &Value| node["fired"].as_u64().unwrap() > 150;
    // Each node has its own target.
    let has_completed = |label: &Value| label["completed"].as_u64().unwrap() > 50;
    wait_until_told(&server, "report", |whole| {
        let told = whole["nodes_with_results_so_far"].as_array().unwrap();
        let nodes = whole["account"]["nodes"].as_array().unwrap();
        told.len() == 2
            && told.iter().all(has_told)
            && nodes.iter().all(has_started)
            && whole["labels"].as_object().unwrap().values().all(has_completed)
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (output, results) = ended(other);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let account = &results["fleet"]["account"];
    assert_eq!((&account["expected"], &account["closes"]), (&1_200.into(), &false.into()));
    assert_eq!(results["fleet"]["nodes_with_results"], 1);
    assert!(has_told(&results["fleet"]["nodes_with_results_so_far"][0]), "{results}");
    let started = [&results["fleet"]["started"], &results["started"]];
    let [all, own] = started.map(|count| count.as_u64().unwrap());
    assert!(all > own + 50, "{results}");
    let [started, most] = ["fired", "fired_at_most"].map(|name| account[name].as_u64().unwrap());
    assert!(started > own + 150 && most > started, "{account}");
    let report = report(&server, &["--fail-if", "completed > 100000"]);
    let text = String::from_utf8_lossy(&report.stdout);
    assert_eq!(report.status.code(), Some(3), "{text}");
    assert!(text.contains("\nmissed    completed is "), "{text}");
    written_everywhere(&server);
    assert!(
        text.contains("results are missing: node ") && text.contains("lost the store"),
        "{text}"
    );
    assert!(text.contains(&format!("{started} to {most} slots started")), "{text}");
    assert!(!text.contains("On schedule"), "{text}");
}

/// Each of the two nodes completes about 200 requests.
#[test]
#[ignore = "needs Redis and Valkey"]
fn requirements_are_about_the_whole_fleet() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let options = "--nodes 2 --rate 200/s --duration 2s --fail-if completed>300 --fail-below 0.5";
    let nodes = [(); 2].map(|()| node(&server, options)).map(ended);
    assert_eq!(whole(&nodes)["missed"], Value::Array(Vec::new()));
    for (requirement, missed) in [
        ("due = 400", None),
        ("due = 200", Some("due is 400, wanted = 200")),
        ("min response < 1ns", Some("min response is ")),
        ("errors < 0%", Some("errors are 0.00 %, wanted < 0%")),
    ] {
        let output = report(&server, &["--fail-if", requirement]);
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.lines().find_map(|line| line.strip_prefix("missed    "));
        assert_eq!(told.is_some(), missed.is_some(), "{requirement}: {text}");
        assert!(told.zip(missed).is_none_or(|(told, missed)| told.starts_with(missed)), "{told:?}");
        let status = if missed.is_some() { Some(3) } else { nodes[0].0.status.code() };
        assert_eq!(output.status.code(), status, "{text}");
    }
    let mut misread = nanopace("fleet report test --fail-if p99");
    refused(misread.env("NANOPACE_STORE", server.url()), "--fail-if");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_fleet_is_watched_from_anywhere_until_it_is_over() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let nodes = [(); 2].map(|()| node(&server, "--nodes 2 --rate 200/s --duration 5s"));
    wait_until(&server, |state| state["state"] == "running");
    let watched =
        nanopace("fleet status test --watch").env("NANOPACE_STORE", server.url()).output();
    let watched = watched.unwrap();
    let text = String::from_utf8_lossy(&watched.stdout);
    assert!(watched.status.success(), "{watched:?}");
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("2 nodes") && line.contains(" of 200/s, errors 0.0 %")),
        "{text}"
    );
    assert!(lines.last().unwrap().contains("ended"), "{text}");
    let nodes = nodes.map(ended);
    let shows = |(output, _): &&(Output, Value)| {
        String::from_utf8_lossy(&output.stderr).contains("2 nodes: ")
    };
    assert_eq!(nodes.iter().filter(shows).count(), 1, "{nodes:?}");
    let command = format!("{} fleet status test --watch", env!("CARGO_BIN_EXE_nanopace"));
    let mut terminal =
        rexpect::spawn(&format!("env NANOPACE_STORE={} {command}", server.url()), Some(20_000))
            .unwrap();
    for shown in ["test: ended", "achieved", "so far", "200/s", "1000 expected"] {
        terminal.exp_string(shown).unwrap();
    }
    terminal.exp_eof().unwrap();
}

/// Checks the outputs for a fleet that had a rate of 200/s and of which one of the two nodes was killed.
fn written_everywhere(server: &Server) {
    let [html, json, csv] = ["fleet.html", "fleet.json", "fleet.csv"].map(scratch);
    let paths = [&html, &json, &csv].map(|path| path.to_str().unwrap());
    report(server, &["--html", paths[0], "--json", paths[1], "--csv", paths[2]]);
    let [page, object, log] = paths.map(|path| std::fs::read_to_string(path).unwrap());
    let object: Value = serde_json::from_str(&object).unwrap();
    let intervals = object["rate_over_time"].as_array().unwrap();
    let number = |of: &Value| of.as_f64().unwrap();
    assert_eq!([&intervals[0]["from_seconds"], &intervals[0]["to_seconds"]], [0.0, 1.0]);
    assert!((number(&intervals[0]["target_rate"]) - 200.0).abs() < 1e-6, "{object}");
    assert!(number(&intervals[0]["by_intended_start"]["completed"]) > 100.0, "{object}");
    let sum: u64 = intervals.iter().map(|of| of["started"].as_u64().unwrap()).sum();
    assert_eq!(object["started"], sum, "{object}");
    let rows = log.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let rows: Vec<_> = rows.collect();
    assert_eq!((rows.len(), &rows[0][3]), (intervals.len() + 1, &"started".to_owned()));
    for (row, interval) in rows[1..].iter().zip(intervals) {
        assert_eq!(
            (row.len(), &row[3]),
            (rows[0].len(), &interval["started"].to_string()),
            "{log}"
        );
    }
    // XML requires that all elements are closed, so the elements that HTML leaves open are closed here.
    let mut parts = page.trim_start_matches("<!DOCTYPE html>").split("<meta ").map(str::to_owned);
    let first = parts.next().unwrap();
    let page = parts.fold(first, |xml, part| xml + "<meta " + &part.replacen('>', "/>", 1));
    let page = roxmltree::Document::parse(&page).unwrap();
    let texts: Vec<_> = page.descendants().filter_map(|node| node.text()).collect();
    for shown in ["The results of some nodes are missing", "Nodes", "Rate", "Percentiles"] {
        let is_shown = |text: &&str| text.to_lowercase().contains(&shown.to_lowercase());
        assert!(texts.iter().any(is_shown), "{shown}: {texts:?}");
    }
    let rows = page.descendants().find(|node| node.attribute("id") == Some("nodes")).unwrap();
    assert_eq!(rows.descendants().filter(|node| node.has_tag_name("tr")).count(), 3);
    for (options, told) in [(["--html", "-"], "--html"), (["--csv", "/nowhere/x"], "/nowhere/x")] {
        let mut command = nanopace("fleet report test");
        refused(command.args(options).env("NANOPACE_STORE", server.url()), told);
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_rejects_the_results_has_its_own_exit_status() {
    let _alone = alone();
    let fill = |server: &mut Server| {
        server.ask("CONFIG SET maxmemory 1").unwrap();
    };
    let breaks: [&dyn Fn(&mut Server); 2] = [&fill, &Server::kill];
    for break_store in breaks {
        let mut server = Server::start(ONE_ENGINE).unwrap();
        let node = node(&server, "--rate 200/s --duration 2s");
        wait_until(&server, |state| state["elapsed_seconds"].as_f64().unwrap_or(0.0) > 0.3);
        break_store(&mut server);
        let (output, results) = ended(node);
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert!(results["completed"].as_u64().unwrap() > 0, "{results}");
    }
}

/// Only the remaining node can end the run. The same command, started again at the end of the load, waits until the run
/// has ended and then performs the whole load.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_killed_near_the_end_leaves_no_run_in_progress() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let options = "--nodes 2 --rate 200/s --duration 2s";
    let [mut killed, other] = [(); 2].map(|()| node(&server, options));
    wait_until(&server, |state| state["elapsed_seconds"].as_f64().unwrap_or(0.0) > 1.7);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let again = [(); 2].map(|()| {
        wait_until(&server, |state| state["elapsed_seconds"].as_f64().unwrap_or(0.0) >= 2.0);
        node(&server, options)
    });
    let (output, results) = ended(other);
    assert_eq!((output.status.code(), &results["fleet"]["has_ended"]), (Some(3), &true.into()));
    let again: Vec<_> = again.into_iter().map(ended).collect();
    let whole = whole(&again);
    assert_eq!(whole["account"]["expected"], 400, "{whole}");
    assert_eq!(whole["nodes_with_results"], 2, "{whole}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_joins_late_reports_it() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let first = node(&server, "--rate 100/s --duration 4s");
    wait_until(&server, |state| state["elapsed_seconds"].as_f64().unwrap_or(0.0) > 1.0);
    let report = object(&report(&server, &["--json", "-"]));
    let target = report["target_rate"].as_f64().unwrap();
    assert!((target - 100.0).abs() < 1e-6, "its frames have whole slots: {report}");
    let (output, _) = ended(node(&server, "--rate 100/s --duration 4s"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("node 2 of test joined at ") && told.contains(" of 4.00s"), "{told}");
    ended(first);
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn waiting_nodes_report_it_and_can_leave() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let mut waiting = node(&server, "--nodes 4 --rate 400/s --duration 1min");
    let mut progress = read_until(&mut waiting, "nodes that have joined: 1 of 4");
    let state = wait_until(&server, |state| state["nodes"] == 1);
    assert_eq!((&state["state"], &state["awaited"]), (&"waiting".into(), &4.into()));
    signal(waiting.id(), "-INT");
    let mut told = String::new();
    progress.read_to_string(&mut told).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{told}");
    assert!(told.contains("this node left before the run started"), "{told}");
    assert_eq!(wait_until(&server, |state| state["nodes"] == 0)["account"], Value::Null);
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_running_fleet_can_be_controlled_from_anywhere() {
    let _alone = alone();
    let server = Server::start(ONE_ENGINE).unwrap();
    let first = node(&server, "--nodes 2 --rate 100/s --duration 10min --frame 200ms");
    let second = node(&server, "--nodes 2 --rate 100/s --duration 10min --when-blind stop");
    let state = wait_until(&server, |state| state["state"] == "running");
    assert_eq!(state["frame_seconds"], 0.2);
    asked(&server, "fleet rate test 300/s");
    wait_until(&server, |state| state["shape"].as_str().unwrap().contains("hold 300/s"));
    asked(&server, "fleet pause test");
    wait_until(&server, |state| state["state"] == "paused");
    asked(&server, "fleet resume test");
    wait_until(&server, |state| state["state"] == "running");
    let third = node(&server, "--fail-if completed>100000");
    wait_until(&server, |state| state["nodes"] == 3);
    let ramp = ["fleet", "shape", "test", "ramp 100/s..200/s 10min"];
    let mut shape = nanopace("");
    shape.args(ramp).env("NANOPACE_STORE", server.url());
    assert!(shape.status().unwrap().success());
    wait_until(&server, |state| state["shape"].as_str().unwrap().contains("ramp 100/s..200/s"));
    // The node leaves, so its requirements apply only to its own part.
    signal(third.id(), "-INT");
    let third = ended(third);
    assert_eq!((third.0.status.code(), third.1.get("fleet")), (Some(3), None), "{third:?}");
    let missed = third.1["missed"][0].as_str().unwrap();
    let told = String::from_utf8_lossy(&third.0.stderr);
    assert!(missed.starts_with("completed is ") && told.contains(missed), "{told}");
    asked(&server, "fleet stop test");
    let [first, second] = [first, second].map(ended);
    let nodes = [first, second, third];
    let whole = whole(&nodes);
    assert_eq!(whole["account"]["closes"], true, "{whole}");
    assert_eq!(whole["account"]["fired"], sum(&nodes, "started"), "{whole}");
    assert!(asked(&server, "fleet status test").contains("test: ended"));
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn errors_are_one_line() {
    let run = "run --rate 10/s --duration 1s";
    for (line, told) in [
        (format!("{run} --run test"), "NANOPACE_STORE"),
        (format!("{run} --run test --fleet http://:secret@host"), "redis://HOST:PORT/"),
        (format!("{run} --run test --fleet redis://:secret@127.0.0.1:1/"), "redis://127.0.0.1:1/"),
        (format!("{run} --run a/b --fleet redis://127.0.0.1:1/"), "checkout-7"),
        (format!("{run} --fleet redis://127.0.0.1/"), "--run"),
        (format!("{run} --run test --fleet redis://127.0.0.1/ --shard 1/2"), "leave it out"),
        (
            format!("{run} --run test --fleet redis://127.0.0.1/ --strictness 1"),
            "--skip-later-than",
        ),
        (
            format!("{run} --run test --fleet redis://127.0.0.1/ --max-backlog 1s"),
            "--skip-later-than",
        ),
        (format!("{run} --run test --fleet redis://127.0.0.1/ --requests 5"), "--duration"),
        ("fleet status test".to_owned(), "NANOPACE_STORE"),
        ("fleet rate test fast --store redis://127.0.0.1:1/".to_owned(), "rate"),
        (
            "fleet stop test --store redis://:secret@127.0.0.1:1/".to_owned(),
            "no usable response from the store",
        ),
    ] {
        refused(&mut nanopace(&line), told);
    }
    let line = "run --run test --fleet redis://:secret@host:1/2 --print-config";
    let config = String::from_utf8(nanopace(line).output().unwrap().stdout).unwrap();
    assert!(config.contains("\nfleet = \"redis://host:1/2\"\n"), "{config}");
    let recording = scratch("starts.txt");
    std::fs::write(&recording, "0.1\n").unwrap();
    let line = "run --run test --fleet redis://127.0.0.1/ --arrivals";
    refused(nanopace(line).arg(format!("replay:{}", recording.display())), "recording");
    let server = Server::start(ONE_ENGINE).unwrap();
    let store = |line: &str| format!("{line} --store {}", server.url());
    refused(&mut nanopace(&store("fleet status nothing")), "there is no run nothing");
    refused(&mut nanopace(&store("fleet pause nothing")), "there is no run nothing");
    let fleet = format!("run --fleet {} --run", server.url());
    refused(&mut nanopace(&format!("{fleet} nothing")), "there is no run nothing");
    refused(&mut nanopace(&format!("{fleet} x --nodes 0 --rate 1/s")), "--nodes 4");
    let data = "--data-end stop -z 1s --url http://127.0.0.1:1/{{a}} --data";
    let mut ends = nanopace(&format!("{fleet} x --nodes 1 --rate 1/s {data}"));
    fs::write(recording.with_extension("csv"), "a\n1\n").unwrap();
    let told = "not after the last row of --data: leave out --data-end stop";
    refused(ends.arg(recording.with_extension("csv")), told);
    let mut other = node(&server, "--nodes 2 --rate 100/s --duration 1min");
    let _progress = read_until(&mut other, "nodes that have joined: 1 of 2");
    refused(&mut nanopace(&format!("{fleet} test --rate 7/s")), "hold 100/s");
    signal(other.id(), "-INT");
    other.wait().unwrap();
}

fn refused(command: &mut Command, told: &str) {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let status = if error.contains("no usable response from the store") { 5 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{command:?}: {error}");
    assert!(error.starts_with("error: ") && error.lines().count() == 1, "{command:?}: {error}");
    assert!(error.contains(told) && !error.contains("secret"), "{command:?}: {error}");
}

#[test]
fn the_options_of_the_example_for_kubernetes_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kubernetes/fleet.yaml");
    let manifest = fs::read_to_string(page).unwrap();
    let arguments = manifest.split("args:").nth(1).unwrap().lines();
    let line: Vec<&str> = arguments.filter_map(|line| line.trim().strip_prefix("- ")).collect();
    let mut command = nanopace(&line.join(" "));
    let output = command.arg("--print-config").env("NANOPACE_STORE", "redis://store/").output();
    let output = output.unwrap();
    let nodes =
        manifest.lines().find_map(|line| line.trim().strip_prefix("completions: ")).unwrap();
    let config = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && config.contains(&format!("nodes = {nodes}\n")), "{config}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_fleet_needs_only_tls_and_the_listed_rights() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FLEET.md");
    let page = fs::read_to_string(page).unwrap();
    let rights: Vec<&str> = page.lines().filter(|line| line.starts_with('+')).collect();
    for product in Product::ALL {
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(&certificate, signed.cert.pem()).unwrap();
        fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Server::with(product)
            .setting("tls-port", port.to_string())
            .setting("tls-cert-file", certificate.to_str().unwrap())
            .setting("tls-key-file", key.to_str().unwrap())
            .setting("tls-auth-clients", "no")
            .start();
        let server = server.expect("a server that is built with TLS");
        let user = format!("ACL SETUSER bob reset on >secret ~nanopace:* {}", rights.join(" "));
        server.ask(&user).unwrap();
        let run = |user: &str, trusted: &Path| {
            let mut command = nanopace("run --run test --rate 100/s --duration 200ms --json -");
            command.env("NANOPACE_STORE", format!("rediss://{user}@127.0.0.1:{port}/"));
            command.env("SSL_CERT_FILE", trusted).output().unwrap()
        };
        let output = run("bob:secret", &certificate);
        assert!(output.status.success(), "{product}: {output:?}");
        assert_eq!(object(&output)["fleet"]["account"]["fired"], 20, "{product}");
        assert_eq!(run("bob:wrong", &certificate).status.code(), Some(2), "{product}");
        assert_eq!(
            run("bob:secret", &key).status.code(),
            Some(5),
            "{product}: the certificate is not trusted"
        );
    }
}
