//! `nanopace limit` as its users see it. Everything happens in virtual time, so that every figure
//! is exact.

use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn start(line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.arg("limit").args(line.split_whitespace()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What comes of `input` on standard input.
fn output(line: &str, input: &[u8]) -> Output {
    let mut child = start(line);
    // If it refuses the options, it reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The decisions on these times, a line each.
fn decisions(line: &str, times: &str) -> Vec<String> {
    let input = times.replace(' ', "\n");
    let output = output(&format!("{line} --decisions"), input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().take_while(|line| !line.starts_with("limit ")).map(str::to_owned).collect()
}

/// As `decisions`, in a word each: `+` is admitted, anything else when to come back.
fn answers(line: &str, times: &str) -> String {
    let answer = |line: String| match line.split_once(" rejected, retry at ") {
        Some((_, retry)) => retry.split_whitespace().next().unwrap().to_owned(),
        None => line.split_once(" admitted").map_or_else(|| panic!("{line}"), |_| "+".to_owned()),
    };
    decisions(line, times).into_iter().map(answer).collect::<Vec<_>>().join(" ")
}

fn results(line: &str, input: &[u8]) -> Value {
    let output = output(&format!("{line} --json -"), input);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A limiter of a comparison.
fn limiter<'a>(results: &'a Value, name: &str) -> &'a Value {
    let limiters = results["limiters"].as_array().unwrap();
    limiters.iter().find(|limiter| limiter["name"] == name).unwrap()
}

/// A path of this test's own.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn names(value: &Value) -> String {
    value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
}

#[test]
fn cooldown_sets_back_by_an_interval() {
    // Scores 120, 140, 160 after three; the fourth would make 180, more than 100 + 60, until 120.
    assert_eq!(
        decisions("--limit 3/60s", "100 100 100 100 119.999999999 120 120"),
        [
            "100s admitted",
            "100s admitted",
            "100s admitted",
            "100s rejected, retry at 120s (in 20s)",
            "119.999999999s rejected, retry at 120s (in 0.000000001s)",
            "120s admitted",
            "120s rejected, retry at 140s (in 20s)",
        ]
    );
}

#[test]
fn cooldown_of_a_capacity_of_one_spaces_evenly() {
    assert_eq!(answers("--limit 10/s --capacity 1", "1 1.05 1.1 1.15 1.2"), "+ 1.1s + 1.2s +");
}

#[test]
fn buckets_let_in_their_capacity_and_then_the_rate() {
    for limiter in ["leaky-bucket", "token-bucket"] {
        // Two tokens; the first is back half a second later.
        let line = format!("--limit 2/s --capacity 2 --limiter {limiter}");
        assert_eq!(answers(&line, "1 1 1 1.4 1.5 1.6 2"), "+ + 1.5s 1.5s + 2s +", "{limiter}");
    }
}

#[test]
fn the_queue_says_when_requests_depart() {
    // One every 100 ms; three fit, each until its interval is over.
    assert_eq!(
        decisions("--limiter leaky-queue --capacity 3", "0.005 0.005 0.005 0.005 0.105 1"),
        [
            "0.005s admitted",
            "0.005s admitted, departs at 0.105s",
            "0.005s admitted, departs at 0.205s",
            "0.005s rejected, retry at 0.105s (in 0.1s)",
            "0.105s admitted, departs at 0.305s",
            "1s admitted",
        ]
    );
}

#[test]
fn the_pool_gives_back_what_was_not_used() {
    // Four tokens at first, one more every 250 ms; what does not fit waits. At 3 s four are active
    // and twelve wait: each refill of one lets a quarter of 4 x 0.5 more in.
    let line = "--limit 4/s --limiter pool --refill-every 250ms --backfill 1.5";
    assert_eq!(answers(line, "10 10 10 10 10 10.25"), "+ + + + 10.25s +");
    assert_eq!(
        answers(line, "10 13 13 13 13 13 13 13 13.25 13.25"),
        "+ + + + + + + 13.25s + 13.5s"
    );
}

#[test]
fn rings_forget_by_slots() {
    // Ten slots of 100 ms: what was let in during that of 0.9 s counts until 1.9 s. With one slot
    // more until 2 s.
    assert_eq!(answers("--limit 2/s --limiter rolling-ring", "0.95 0.95 1.8 1.9"), "+ + 1.9s +");
    assert_eq!(answers("--limit 2/s --limiter guarding-ring", "0.95 0.95 1.9 2"), "+ + 2s +");
    // Four slots of 250 ms, that of 0.75 s being the third.
    assert_eq!(
        answers("--limit 2/s --limiter rolling-ring --slots 4", "0.95 0.95 1.7 1.75"),
        "+ + 1.75s +"
    );
}

/// Ten at once, and four at once of those that come back every 15 s.
#[test]
fn limits_decide_as_programs_write_them() {
    assert_eq!(answers("--limit 10/s,4/min", "1 1 1 1 1 16 16"), "+ + + + 16s + 31s");
    let of = |line: &str| limiter(&results(line, b"1\n1\n1\n"), "as-written")["admitted"].clone();
    assert_eq!(of("--limit 10/s,2/day --compare"), 2);
}

#[test]
fn each_key_has_a_limiter_of_its_own() {
    let output = output("--limit 1/min --decisions", b"a 1\nb 1\na 2\n3\na 61\n");
    let text = String::from_utf8(output.stdout).unwrap();
    let decisions: Vec<_> = text.lines().take(5).collect();
    assert_eq!(
        decisions,
        [
            "1s a admitted",
            "1s b admitted",
            "2s a rejected, retry at 61s (in 59s)",
            "3s admitted",
            "61s a admitted",
        ]
    );
    assert!(text.contains("5 from standard input, 3 keys"), "{text}");
}

#[test]
fn what_is_too_large_is_told_from_what_comes_too_early() {
    assert_eq!(
        decisions("--limit 10/s --cost 11", "1"),
        ["1s rejected for ever: more than 10 at once"]
    );
    assert_eq!(answers("--limit 10/s --cost 10", "1 1"), "+ 2s");
    let results = results("--limit 10/s --cost 11", b"1\n");
    assert_eq!(results["limiters"][0]["longest_retry_ns"], Value::Null);
}

#[test]
fn lines_that_cannot_be_read_are_reported_and_skipped() {
    let output = output("--decisions", b"1\nsoon\n\n2 3 4\n2\n\xff\n1.5\n");
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let faults: Vec<_> = stderr.lines().collect();
    assert_eq!(
        faults,
        [
            "line 2: `soon` is no time: write seconds such as 1.5, or a unit as in 1500ms; skipped",
            "line 4: it has 3 words: write a time, or a key and a time; skipped",
            "line 6: it is not in UTF-8; skipped",
            "line 7: 1.5s is earlier than 2s before it; taken as 2s",
        ]
    );
    let report = String::from_utf8(output.stdout).unwrap();
    for line in ["1s admitted\n2s admitted\n2s admitted\n", "skipped   3 ", "late      1 "] {
        assert!(report.contains(line), "{line} is not in {report}");
    }
}

#[test]
fn strict_ends_at_the_first_bad_line() {
    for (input, told) in [
        (&b"1\nsoon\n2\n"[..], "error: line 2: `soon` is no time"),
        (b"1\n\n0.5\n", "error: line 3: 0.5s is earlier than 1s before it"),
    ] {
        let output = output("--strict", input);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.starts_with(told) && output.stdout.is_empty(), "{stderr}");
    }
}

#[test]
fn what_cannot_be_done_is_one_line_and_status_2() {
    for (line, told) in [
        ("", "write one time per line, such as 1.5 or 1500ms"),
        ("--limit 0/s --phases", "--limit"),
        ("--limit 10", "--limit"),
        ("--limit 10/s,5/brust --phases", "--limit"),
        ("--limit , --phases", "--limit"),
        ("--limit 10/s,5/day --retry 10ms", "write --limit as a number per time"),
        ("--limiter fast --phases", "--limiter"),
        ("--limiter cooldown,pool --phases", "--compare"),
        ("--limiter aggregated-window --capacity 3 --phases", "--capacity is only for cooldown"),
        ("--slots 5 --phases", "--slots is only for"),
        ("--slots 0 --phases", "--slots"),
        ("--limiter rolling-ring --slots 7 --phases", "4, 5, 8, 10"),
        ("--backfill 2 --phases", "--backfill is only for pool"),
        ("--limiter pool --backfill 0.5 --phases", "write 1 or more, such as 1.25"),
        ("--cost 0 --phases", "--cost"),
        ("--poisson", "add --phases"),
        ("--phases 1,fast", "--phases"),
        ("--phases 0", "write a rate"),
        ("--phases 1 --phase-duration 0s", "--phase-duration"),
        ("--limiter refilled-token-bucket --limit 1/week --phases", "1 ns to 1 day"),
        ("--compare --decisions --phases", "--decisions"),
        ("--json /nonexistent/file --phases", "/nonexistent/file"),
        ("--svg /nonexistent/file --phases", "/nonexistent/file"),
        ("--svg - --phases", "--svg -: the plot needs a file"),
        ("--requests 5 --phases", "add --retry 10ms"),
        ("--retry 10ms --requests 0", "--requests"),
        ("--retry 0s", "--retry"),
        ("--retry 10ms --phases", "--requests 100"),
        ("--retry 10ms --poisson", "--poisson: with --retry the caller asks as soon as it may"),
        ("--retry 10ms --phase-duration 1s", "--phase-duration: --retry shows"),
        ("--retry 10ms --decisions", "--decisions: --retry shows what all answers add up to"),
        ("--retry 10ms --svg /nonexistent/file", "write --json"),
        ("--retry 10ms --strict", "--strict: with --retry nothing is read"),
        ("--retry 10ms --slots 5 --limiter cooldown", "--slots is only for"),
        ("--retry 10ms --limit 1/day --requests 200000", "292 years"),
        ("--retry 1000years", "292 years"),
    ] {
        let output = output(line, b"");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(told), "{line}: {stderr}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn phases_show_where_the_limit_begins() {
    let results = results("--phases 1,5,10,20 --phase-duration 10s", b"");
    // From full, 10 at once and 10 a second: 10 + 99 of the 200 that come within 9.95 s.
    for (phase, [asked, admitted]) in
        [[10, 10], [50, 50], [100, 100], [200, 109]].into_iter().enumerate()
    {
        let phase = &results["limiters"][0]["phases"][phase];
        assert_eq!(
            (&phase["asked"], &phase["admitted"]),
            (&asked.into(), &admitted.into()),
            "{phase}"
        );
        assert_eq!(phase["rejected"], asked - admitted, "{phase}");
    }
    assert_eq!(results["limiters"][0]["phases"][3]["longest_retry_ns"], 50_000_000);
    assert_eq!(results["limiters"][0]["phases"][3]["admitted_rate"], 10.9);
}

#[test]
fn phases_of_standard_input_are_joined_when_they_are_many() {
    // A request each second for 110 s, and one ten days later.
    let input =
        (0..110).chain([864_000]).map(|second| format!("{second}\n")).collect::<Vec<_>>().concat();
    let asked = |line, input: &str| {
        let results = results(line, input.as_bytes());
        let phases = results["limiters"][0]["phases"].as_array().unwrap().clone();
        phases.iter().map(|phase| phase["asked"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    // 86 401 phases of 10 s, of which eleven and one have requests; ten rows are shown at most.
    assert_eq!(asked("", &input), [110, 1]);
    assert_eq!(
        asked("--phase-duration 10s", &input),
        [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 1]
    );
    // Eleven phases, two for a row.
    assert_eq!(asked("", input.trim_end_matches("864000\n")), [20, 20, 20, 20, 20, 10]);
}

#[test]
fn random_loads_come_again() {
    let line = "--compare --phases 5,20 --poisson --seed 7";
    assert_eq!(output(line, b"").stdout, output(line, b"").stdout);
    assert_ne!(
        output(line, b"").stdout,
        output("--compare --phases 5,20 --poisson --seed 8", b"").stdout
    );
}

#[test]
fn a_comparison_tells_the_limiters_apart() {
    // Nothing for 10 s from 0.5 s on, then 20/s from 10.5 s on.
    let results = results("--compare --phases 0,20", b"");
    for (name, most, in_a_row) in [
        // 10 at once, then every other one: 19 within the first second.
        ("cooldown", 19, 1),
        ("token-bucket", 19, 1),
        ("leaky-bucket", 19, 1),
        // Departures are 100 ms apart.
        ("leaky-queue", 10, 1),
        // 10 from 10.5 s on, 10 from 11 s on; the next 10 that come before 12 s are rejected.
        ("refilled-token-bucket", 20, 10),
        ("fixed-window", 20, 10),
        ("sliding-log", 10, 10),
        ("aggregated-window", 10, 12),
        ("guarding-ring", 10, 12),
    ] {
        let limiter = limiter(&results, name);
        let figures = (&limiter["most_in_period"], &limiter["rejected_in_a_row"]);
        assert_eq!(figures, (&most.into(), &in_a_row.into()), "{name}");
    }
}

#[test]
fn a_limiter_that_cannot_keep_the_limit_is_left_out_of_a_comparison() {
    let line = "--compare --limiter cooldown,refilled-token-bucket --limit 1/week";
    let output = output(line, b"1\n");
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        report.contains("not tried: refilled-token-bucket: an interval lasts 1 ns to 1 day"),
        "{report}"
    );
    assert_eq!(results(line, b"1\n")["not_tried"][0]["name"], "refilled-token-bucket");
}

#[test]
fn the_json_object_has_the_promised_names_and_no_others() {
    let results = results("--phases 1", b"");
    assert_eq!(
        names(&results),
        "asked asked_rates column_ns complete cost keys limit limiters lines_out_of_order lines_skipped not_tried \
         phase_ns"
    );
    assert_eq!(names(&results["limit"]), "count period_ns");
    let limiter = &results["limiters"][0];
    assert_eq!(
        names(limiter),
        "admitted admitted_rates longest_retry_ns most_in_period name phases rejected rejected_in_a_row"
    );
    assert_eq!(
        names(&limiter["phases"][0]),
        "admitted admitted_rate asked from_ns longest_retry_ns name rejected"
    );
}

#[test]
fn a_picture_has_a_panel_for_each_limiter() {
    let svg = scratch("limit.svg");
    let line = format!(
        "--compare --limiter cooldown,pool,leaky-queue --phases 20 --svg {}",
        svg.display()
    );
    let output = output(&line, b"");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(&svg).unwrap();
    let picture = Document::parse(&text).unwrap();
    let captions = picture
        .descendants()
        .filter(|node| node.text().is_some_and(|text| text.contains(" admitted (")));
    assert_eq!(captions.filter(roxmltree::Node::is_element).count(), 3, "{text}");
}

#[test]
fn a_chart_is_drawn_from_one_request_on() {
    for input in [&b"1\n"[..], b"0\n9223372036\n", b"1700000000\n1700000000.000000001\n"] {
        let output = output("", input);
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{report}");
        assert!(report.contains(['█', '▁']), "{report}");
        let mut chart = report.lines().skip_while(|line| !line.starts_with("requests per second"));
        assert!(chart.all(|line| line.chars().count() <= 80), "{report}");
    }
}

#[test]
fn help_teaches_with_examples() {
    let output = output("--help", b"");
    let help = String::from_utf8(output.stdout).unwrap();
    for part in
        ["Examples:", "nanopace limit --compare --phases", "token-bucket", "--strict", "never ends"]
    {
        assert!(help.contains(part), "{part} is not in {help}");
    }
}

#[test]
fn a_closed_pipe_ends_it_and_is_an_error() {
    let mut child = start("--phases 100000 --phase-duration 60s --decisions");
    let mut decisions = BufReader::new(child.stdout.take().unwrap());
    decisions.read_line(&mut String::new()).unwrap();
    drop(decisions);
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.starts_with("error: Broken pipe"), "{told}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_what_there_is() {
    let mut child = start("--decisions --json -");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"1\n").unwrap();
    // The first decision is there when it listens to signals.
    let mut decisions = BufReader::new(child.stderr.take().unwrap());
    decisions.read_line(&mut String::new()).unwrap();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let report = std::io::read_to_string(decisions).unwrap();
    let output = child.wait_with_output().unwrap();
    // Standard input was open all the time.
    drop(input);
    assert!(kill.success() && output.status.success(), "{output:?}");
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&results["complete"], &results["asked"]), (&Value::Bool(false), &1.into()));
    assert!(report.contains("interrupted: there would have been more"), "{report}");
}

/// How long 100 requests at 10/s take with a retry each 10 ms, from 0.5 s on, under each limiter:
/// milliseconds, and tries. None is for ever.
const RETRIED: [(&str, Option<(u64, u64)>); 13] = [
    // 10 at once, then one each 100 ms: 90 times. Ten tries for each.
    ("cooldown", Some((9_000, 1_000))),
    ("leaky-bucket", Some((9_000, 1_000))),
    // The last departs after the nine before it.
    ("leaky-queue", Some((9_900, 1_000))),
    ("token-bucket", Some((9_000, 1_000))),
    // 10 at once, and 10 at 1 s, 2 s and so on, until 9 s: 85 further moments.
    ("refilled-token-bucket", Some((8_500, 950))),
    ("pool", Some((9_000, 1_000))),
    ("fixed-window", Some((8_500, 950))),
    // 10 at 0.5 s, 1.5 s and so on, until 9.5 s.
    ("sliding-log", Some((9_000, 1_000))),
    ("sliding-log-all", None),
    ("sliding-counter", Some((10_390, 1_139))),
    // Its slots are of 100 ms, and moments are on their boundaries.
    ("rolling-ring", Some((9_000, 1_000))),
    // A slot longer each time: 10 at 0.5 s, 1.6 s and so on.
    ("guarding-ring", Some((9_900, 1_090))),
    ("aggregated-window", Some((9_900, 1_090))),
];

#[test]
fn a_caller_who_asks_again_gets_in_as_each_law_says() {
    let results = results("--retry 10ms", b"");
    let limiters = results["limiters"].as_array().unwrap();
    assert_eq!(limiters.len(), RETRIED.len());
    for (name, expected) in RETRIED {
        let limiter = limiter(&results, name);
        let found = limiter["took_ns"].as_u64().map(|took| {
            let [tries, rejected] =
                ["tries", "rejected"].map(|name| limiter[name].as_u64().unwrap());
            assert_eq!((&limiter["let_in"], tries - rejected), (&100.into(), 100), "{name}");
            (took / 1_000_000, tries)
        });
        assert_eq!(found, expected, "{name}");
    }
    let locked_out = limiter(&results, "sliding-log-all");
    assert_eq!((&locked_out["end"], &locked_out["let_in"]), (&"never_kept_out".into(), &10.into()));
}

#[test]
fn a_caller_who_counts_when_refused_gets_in_only_if_it_asks_rarely() {
    let end = |line: &str| {
        let results = results(&format!("--limiter sliding-log-all {line}"), b"");
        results["limiters"][0]["end"].as_str().unwrap().to_owned()
    };
    // Ten tries in a second are as many as the limit; 99.999999 ms apart there are eleven.
    assert_eq!(end("--retry 100ms"), "all_let_in");
    assert_eq!(end("--retry 99999999ns"), "never_kept_out");
    // The first ten are never refused.
    assert_eq!(end("--retry 10ms --requests 10"), "all_let_in");
    assert_eq!(end("--retry 10ms --requests 11"), "never_kept_out");
    assert_eq!(end("--retry 1week --cost 11"), "never_too_large");
    let report = output("--retry 10ms --limiter sliding-log-all --cost 3", b"").stdout;
    let report = String::from_utf8(report).unwrap();
    assert!(report.contains("write --retry 333ms333us334ns or longer"), "{report}");
}

#[test]
fn a_long_time_is_not_waited_for() {
    // 36 499 days, and 333 million tries in each second of them.
    let line = "--limiter cooldown --limit 1/day --requests 36500 --retry 3ns";
    let took = results(line, b"")["limiters"][0]["took_ns"].as_u64().unwrap();
    assert_eq!(took, 36_499 * 86_400 * 1_000_000_000);
}

#[test]
fn the_object_of_a_caller_has_the_promised_names_and_no_others() {
    let results =
        results("--retry 10ms --limit 1/week --limiter cooldown,refilled-token-bucket", b"");
    assert_eq!(
        names(&results),
        "complete cost limit limiters not_tried requests retry_ns start_ns"
    );
    assert_eq!(names(&results["limiters"][0]), "end let_in name rejected took_ns tries");
    // Ten periods let in ten.
    assert_eq!((&results["requests"], &results["complete"]), (&10.into(), &true.into()));
    assert_eq!(results["not_tried"][0]["name"], "refilled-token-bucket");
}

#[test]
fn the_examples_of_the_page_are_right() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/LIMITS.md");
    let page = fs::read_to_string(page).unwrap();
    let mut examples = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split_once("```").unwrap().0;
        // Those that read nothing, and whose output is whole.
        let Some((line, expected)) =
            block.strip_prefix("$ nanopace limit ").and_then(|example| example.split_once('\n'))
        else {
            continue;
        };
        let report = String::from_utf8(output(line, b"").stdout).unwrap();
        assert_eq!(report, expected, "{line}");
        examples += 1;
    }
    assert_eq!(examples, 2);
}
