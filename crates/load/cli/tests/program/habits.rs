//! Tests command lines of new users, and the help that they get.

use crate::running::{output, refusal, results};
use crate::server::server;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_url_needs_no_option_and_usual_short_options_are_accepted() {
    let (address, asked) = server();
    for (line, first, body) in [
        ("http://ADDRESS/a -n 5 -c 2", "GET /a HTTP/1.1", ""),
        ("-n 5 -z 1min -t 9s -m PUT http://ADDRESS/b", "PUT /b HTTP/1.1", ""),
        ("run -n 5 http://ADDRESS/c -d x=1", "POST /c HTTP/1.1", "x=1"),
        ("http://ADDRESS/d -n 5 -X PATCH -d y", "PATCH /d HTTP/1.1", "y"),
    ] {
        let line = line.replace("ADDRESS", &address);
        assert_eq!(results(&line)["completed"], 5, "{line}");
        let asked = asked.try_iter().map(|asked| (asked.first.clone(), asked.text().to_owned()));
        let asked: Vec<_> = asked.collect();
        // One of the six requests is that of the probe.
        assert_eq!(asked, vec![(first.to_owned(), body.to_owned()); 6], "{line}");
    }
}

#[test]
fn an_error_for_a_typo_suggests_a_correction() {
    for (line, told) in [
        ("serch", "unrecognized subcommand 'serch'; tip: a similar subcommand exists: 'search'"),
        ("localhost", "'localhost' is not a command; if it is a server, write http://localhost/"),
        ("fleet localhost", "unrecognized subcommand 'localhost'"),
        ("localhost:80", "\"localhost:80\" is not a URL with http:// or https://"),
        ("http://a/ http://b/", "'--url <URL>' cannot be used multiple times"),
        ("http://a/ --targets x", "cannot be used with"),
        ("plan --rate max", "for '--rate <RATE>'"),
        ("--rate max --arrivals poisson", "--arrivals: --rate max has no schedule"),
        ("--rate max --fail-below 0.99", "write for example --fail-if \"achieved > 1k/s\""),
        ("--rate max --fail-if ratio>0.5", "--rate max starts each request at once"),
        ("--rate max --fail-if unstarted=0", "--rate max starts each request at once"),
        ("--rate max --strictness 1", "--strictness: --rate max has no schedule"),
        ("--rate max --skip-later-than 1s", "--skip-later-than: --rate max has no schedule"),
        ("--rate max -c 4..8", "--connections 4..8: with --rate max, no request is due while all"),
        ("--rate max --realtime", "--realtime: with --rate max, load threads would keep"),
        ("-c 8..4", "the smaller number comes first: write 4..8"),
        (
            "--per-connection 1s --rate 5",
            "--rate: --per-connection sets when each connection starts",
        ),
        ("--per-connection 1s --arrivals poisson", "--arrivals: --per-connection sets when each"),
        ("--per-connection 1s -c 4..8", "each connection adds to the rate: write one number"),
        ("man serch", "\"serch\" is not a command; write one of search, plan"),
        ("completions tcl", "'tcl'"),
    ] {
        let stderr = refusal(output(line));
        assert!(stderr.contains(told), "{line}: {stderr}");
    }
}

#[test]
fn habits_of_other_load_generators_are_answered_in_one_line() {
    let lines = "--rps 9;--qps 9;-q 9;-R 9;-r 9;--vus 9;-u 9;--users 9;--concurrency 9;-i 9;--iteration 9;--iterations 9;\
                 --time 5s;--run-time 5s;-o json;--out json;--output csv;--latency;-l;--stage 5s:9;\
                 --spawn-rate 9;--script a.js;-f a.py;-s a.lua;-p body;-T text/plain;-x h:1;--cookie a=b;\
                 --thresholds p95;--headless;--redirect 9;--keepalive;attack;bench;report;load;\
                 search --rps 9;run --vus 9";
    for line in lines.split(';') {
        let told = refusal(output(line));
        assert!(told.contains(" belongs to another load generator: "), "{line}: {told}");
        let Some((_, advice)) = told.trim_end().split_once("write ") else {
            assert!(told.contains("leave it out"), "{line}: {told}");
            continue;
        };
        let advice = advice.split([';', ',']).next().unwrap().split(" or ").next().unwrap();
        let mut words = vec!["nanopace"];
        words.extend(split(advice));
        if let Err(error) = nanopace_cli::check(&words) {
            assert!(error.contains("cannot read FILE"), "{line}: {words:?}: {error}");
        }
    }
    let told = refusal(output("-t2 -c10 -d30s http://127.0.0.1:1/"));
    assert!(told.contains("write --duration 30s") || told.contains("--timeout"), "{told}");
}

fn split(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace()),
            _ => words.push(part),
        }
    }
    words
}

fn page(line: &str) -> String {
    let output = output(line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn names(page: &str, heading: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_two_lines_for_an_option() {
    let commands = names(&page("help"), "Commands ");
    assert!(commands.len() >= 8, "{commands:?}");
    let fleet = names(&page("fleet -h"), "Commands:");
    let fleet = fleet.iter().map(|name| format!("fleet {name}"));
    let all = commands.iter().cloned().chain(fleet).chain([String::new()]);
    for command in all {
        let short = page(&format!("{command} -h"));
        assert!(short.lines().count() <= 45, "{command}: {short}");
        let long = page(&format!("{command} --help"));
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
        assert!(longest_option(&long) <= 2, "{command}: {long}");
        if !command.is_empty() {
            assert_eq!(short, page(&format!("help {command}")), "{command}");
        }
    }
    let (short, long) = (page("-h"), page("--help"));
    let options = short.lines().filter(|line| begins_option(line)).count();
    assert!(options == 8 + 2 && !short.contains("--shard"), "{short}");
    assert!(long.contains("--shard") && long.contains("\nResults:\n"), "{long}");
}

fn begins_option(line: &str) -> bool {
    line.starts_with("  -") || line.starts_with("      --")
}

fn longest_option(page: &str) -> usize {
    let mut longest = (0, 0);
    for line in page.lines() {
        let now = match (begins_option(line), line.starts_with("        ")) {
            (true, _) => 1,
            (false, true) if longest.1 > 0 => longest.1 + 1,
            _ => 0,
        };
        longest = (longest.0.max(now), now);
    }
    longest.0
}

#[test]
fn topics_exist_and_their_examples_are_commands() {
    let topics = names(&page("help"), "Topics ");
    for name in
        ["rates", "shapes", "arrivals", "requirements", "templates", "scenarios", "exit-codes"]
    {
        assert!(topics.iter().any(|topic| topic == name), "{name}: {topics:?}");
    }
    let long = page("--help");
    let named = long.split("[see: help").skip(1).map(|rest| rest.split(']').next().unwrap().trim());
    assert!(named.clone().count() > 5);
    assert!(named.clone().all(|name| topics.iter().any(|topic| topic == name)), "{long}");
    for topic in topics {
        let text = page(&format!("help {topic}"));
        let whole = text.replace("\\\n", " ");
        let examples = whole.lines().filter_map(|line| line.strip_prefix("  nanopace "));
        assert!(examples.clone().count() > 0, "{text}");
        for example in examples {
            let words: Vec<_> = ["nanopace"].into_iter().chain(split(example)).collect();
            if let Err(error) = nanopace_cli::check(&words) {
                assert!(error.contains("cannot read starts.csv"), "{topic}: {words:?}: {error}");
            }
        }
    }
    let told = refusal(output("help shape"));
    assert!(told.contains("'nanopace help' lists all"), "{told}");
}

#[cfg(not(all(feature = "otlp", feature = "target-tls")))]
#[test]
fn features_that_are_left_out_say_how_to_get_them() {
    for (line, feature, is_there) in [
        ("--otlp http://127.0.0.1:1/", "otlp", cfg!(feature = "otlp")),
        ("--target-tls -n 1", "target-tls", cfg!(feature = "target-tls")),
    ] {
        let install = format!("not built in: cargo install nanopace-cli --features {feature}");
        assert!(is_there || refusal(output(line)).contains(&install), "{line}");
    }
}

#[test]
fn a_closed_loop_starts_a_request_after_each_response() {
    for (line, started) in [
        ("--rate max -n 300 -c 3", Some(300)),
        ("--rate max -z 200ms -c 2 --target-latency 5ms", None),
        ("--rate max -z 100ms --warmup 50ms -c 1", None),
    ] {
        let results = results(line);
        let count = |name: &str| results[name].as_u64().unwrap();
        assert_eq!(results["verdict"], "closed-loop", "{line}: {results}");
        assert_eq!(count("started"), started.unwrap_or(count("started")), "{line}: {results}");
        assert_eq!((count("due"), count("unstarted")), (count("started"), 0), "{line}: {results}");
        assert_eq!(results["ratio"], 1.0, "{line}: {results}");
        assert!(results["incomplete"].is_null(), "{line}: {results}");
        assert_eq!(results["target_rate"], results["achieved_rate"], "{line}: {results}");
        assert_eq!(results["response_times_at_least"], 0, "{line}: {results}");
        let intervals = results["rate_over_time"].as_array().unwrap();
        assert!(intervals.iter().all(|part| part["backlog_slots"] == 0), "{line}: {results}");
    }
    // There are two connections, each with one request at a time, which takes at least 5 ms.
    let results = results("--rate max -z 200ms -c 2 --target-latency 5ms");
    assert!(results["started"].as_u64().unwrap() <= 82, "{results}");
    assert!(results["lateness"]["target_seconds"] == 0.0, "{results}");
}

#[test]
fn a_closed_loop_does_not_hide_failures() {
    let results = results("--rate max -n 200 --target-errors 50%");
    assert_eq!(results["verdict"], "target-failing", "{results}");
}

#[test]
fn shells_and_man_accept_the_generated_files() {
    for (line, parts) in [
        (
            "completions bash",
            &["_nanopace()", "--target-latency", "completions", "--print-config"][..],
        ),
        ("completions zsh", &["#compdef nanopace"]),
        ("completions fish", &["complete -c nanopace"]),
        ("completions powershell", &["Register-ArgumentCompleter"]),
        ("man", &[".TH nanopace 1", "search"]),
        ("man run", &[".TH nanopace", "\\-\\-skip\\-later\\-than"]),
        ("man search", &["\\-\\-until"]),
    ] {
        let output = output(line);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{line}");
        let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
        assert!(missing.is_empty(), "{line}: {missing:?}");
    }
    let bash = output("completions bash").stdout;
    let Ok(mut shell) = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() else {
        return;
    };
    shell.stdin.take().unwrap().write_all(&bash).unwrap();
    assert!(shell.wait().unwrap().success());
}
