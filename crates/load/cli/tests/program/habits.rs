//! Tests command lines that users of other load generators write.

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
        // One more request is the probe.
        assert_eq!(asked, vec![(first.to_owned(), body.to_owned()); 6], "{line}");
    }
}

#[test]
fn an_error_for_a_typo_suggests_a_correction() {
    for (line, told) in [
        ("serch", "unrecognized subcommand 'serch'; tip: a similar subcommand exists: 'search'"),
        ("localhost:80", "\"localhost:80\" is not a URL with http:// or https://"),
        ("http://a/ http://b/", "'--url <URL>' cannot be used multiple times"),
        ("http://a/ --targets x", "cannot be used with"),
        ("plan --rate max", "for '--rate <RATE>'"),
        ("--rate max --arrivals poisson", "--arrivals: --rate max has no schedule"),
        ("--rate max --fail-below 0.99", "write for example --fail-if \"achieved > 1k/s\""),
        ("--rate max --fail-if ratio>0.5", "always hold with --rate max, which asks for no rate"),
        ("--rate max --strictness 1", "--strictness: --rate max has no schedule"),
        ("--rate max --skip-later-than 1s", "--skip-later-than: --rate max has no schedule"),
        ("man serch", "\"serch\" is no command; write one of search, plan"),
        ("completions tcl", "'tcl'"),
    ] {
        let stderr = refusal(output(line));
        assert!(stderr.contains(told), "{line}: {stderr}");
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
    // Two connections, each with one request at a time, of 5 ms or more.
    let results = results("--rate max -z 200ms -c 2 --target-latency 5ms");
    assert!(results["started"].as_u64().unwrap() <= 82, "{results}");
    assert!(results["lateness"]["target_seconds"] == 0.0, "{results}");
}

/// A failing target is reported, however its requests were started.
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
