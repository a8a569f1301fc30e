//! Tests properties of the report with results that the tests construct.

use super::{COLUMNS, Detail, LINES, RunReport, notes};
use crate::judged::checks::Finding;
use crate::judged::criteria::Required;
use crate::judged::headline::Headline;
use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict;
use crate::load::kind::FailureKind;
use crate::load::own_times::{Name, OwnTimes, Part};
use crate::results::labels::tests::ended;
use crate::results::lateness::Lateness;
use crate::shown::fixture::{compared, empty, long};
use crate::shown::markdown::Markdown;
use crate::shown::{junit, page};
use hdrhistogram::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use toml::Table;

fn shown(summary: &Summary, detail: Detail) -> String {
    RunReport { summary, detail }.to_string()
}

fn of_loads(loads: [(&str, Summary); 2]) -> Summary {
    let loads = loads.map(|(name, summary)| LoadResults {
        name: name.to_owned(),
        start: Duration::ZERO,
        recorded_from: Duration::ZERO,
        summary: Arc::new(summary),
    });
    Summary::of_loads(loads.into(), Table::new())
}

#[test]
fn several_loads_have_one_advice_and_their_verdict_fits() {
    let mut late = good();
    late.verdict = Verdict::GeneratorBehind;
    let text = String::new();
    late.findings.push(Finding { check: "others", is_well: false, text });
    let mut all = of_loads([("w", good()), ("reads", late)]);
    all.note(required("errors < 1%", "2.0%", Some("errors are 2.0%, wanted < 1%")));
    let shown = shown(&all, Detail::Brief);
    let advice = shown.lines().filter(|line| line.starts_with("advice "));
    let expected = "advice    reads: run the generator on a machine without other work";
    assert_eq!(advice.collect::<Vec<_>>(), [expected], "{shown}");
    let verdict = "verdict   reads: The generator could not keep up: its threads lacked CPU time, woke late or were";
    assert!(shown.contains(&format!("{verdict}\n          stopped\n")), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
}

#[test]
fn the_headline_of_several_loads_names_the_load_that_fails() {
    let failing = Summary { verdict: Verdict::TargetFailing, failed_share: 1.0, ..empty() };
    let all = of_loads([("r", empty()), ("w", failing)]);
    let shown = shown(&all, Detail::Headline);
    let lines: Vec<_> = shown.lines().collect();
    let failing = "w: The target is failing: all requests failed";
    assert_eq!(lines[1..], [failing, &format!("2 loads: {failing}")]);
}

fn required(text: &str, value: &str, missed: Option<&str>) -> Required {
    let missed = missed.map(str::to_owned);
    Required { text: text.to_owned(), value: value.to_owned(), missed }
}

fn good() -> Summary {
    let mut summary = empty();
    let stats = &mut summary.stats;
    for (times, ns) in
        [(&mut stats.wait, 20_000), (&mut stats.service, 980_000), (&mut stats.response, 1_000_000)]
    {
        times.record_n(ns, 5_000).unwrap();
    }
    (summary.target_hz, summary.achieved_hz) = (500.0, 500.0);
    summary.duration = Duration::from_secs(10);
    summary
}

#[test]
fn a_good_run_is_read_at_a_glance() {
    let mut summary = good();
    summary.note(required("p99 response < 50ms", "1.00ms", None));
    assert_eq!(
        shown(&summary, Detail::Brief).lines().collect::<Vec<_>>(),
        [
            "On schedule: requests started when they were due",
            "passed    p99 response < 50ms: 1.00ms",
            "rate      500/s of 500/s requested (100.00 % started) over 10.0s",
            "requests  5000 scheduled: 5000 completed, 0 failed",
            "",
            "                wait     service    response",
            "p50           20.0us       980us      1.00ms",
            "p90           20.0us       980us      1.00ms",
            "p99           20.0us       980us      1.00ms",
            "p99.9         20.0us       980us      1.00ms",
            "max           20.0us       980us      1.00ms",
        ]
    );
    assert_eq!(
        shown(&summary, Detail::Headline),
        "On schedule: requests started when they were due\n"
    );
}

#[test]
fn a_bad_run_names_all_that_was_bad_and_gives_advice() {
    let mut summary = good();
    summary.title.rate_is_default = true;
    summary.title.settings.insert("rate".to_owned(), "50/s".into());
    summary.verdict = Verdict::TargetBehind;
    summary.incomplete = Some("only 2000 of 5000 slots started".to_owned());
    summary.note(required("errors < 1%", "2.0%", Some("errors are 2.0%, wanted < 1%")));
    summary.note(required("p99 response < 5ms", "1.00ms", None));
    summary.stats.failures =
        [(FailureKind::new("timeout"), 3), (FailureKind::new("status 503"), 97)].into();
    summary.stats.unstarted = 1;
    assert_eq!(
        shown(&summary, Detail::Brief).lines().take(9).collect::<Vec<_>>(),
        [
            "Default rate of 50/s: choose another with --rate, as in --rate 500",
            "Missed 1 of 2 requirements",
            "missed    errors are 2.0%, wanted < 1%",
            "load      incomplete: only 2000 of 5000 slots started",
            "verdict   The target could not keep up: requests were due while no connection was free for them",
            "passed    p99 response < 5ms: 1.00ms",
            "rate      500/s of 500/s requested (100.00 % started) over 10.0s",
            "requests  5001 scheduled: 5000 completed, 100 failed, 1 never started",
            "errors    status 503: 97, timeout: 3",
        ]
    );
    let brief = shown(&summary, Detail::Brief);
    let advice = "advice    lower --rate, or raise --connections if the target can serve more";
    assert_eq!(brief.lines().last(), Some(advice), "{brief}");
}

#[test]
fn a_closed_loop_has_no_ratio_no_ledger_and_no_second_column() {
    let mut summary = Summary { is_closed: true, verdict: Verdict::ClosedLoop, ..long(40, 500) };
    summary.own_times.clear();
    for detail in [Detail::Brief, Detail::All] {
        let text = shown(&summary, detail);
        for absent in
            ["requested", "ledger", "lateness", "gaps", "corrected", "wait  ", "response  "]
        {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
        assert!(text.starts_with("Closed loop: "), "{text}");
    }
}

#[test]
fn everything_is_in_the_verbose_report() {
    let mut summary = long(40, 500);
    summary.stats.labels.expect(&["read", "write"]);
    let text = shown(&summary, Detail::All);
    for kind in [
        "rate ",
        "requests ",
        "errors ",
        "statuses ",
        "label ",
        "gaps ",
        "ledger ",
        "lateness ",
        "CPU ",
        "traffic ",
        "connect ",
        "p99.99 ",
        "mean ",
        "count ",
    ] {
        assert!(text.lines().any(|line| line.starts_with(kind)), "{kind}: {text}");
    }
    assert!(text.contains("over time, from    requested     achieved"), "{text}");
    summary.stats.lateness = Lateness { generator: 0.080_16, ..Lateness::default() };
    let text = shown(&summary, Detail::All);
    let expected = "lateness  4.00us per slot on average: generator 100.0 %";
    assert!(text.lines().any(|line| line == expected), "{text}");
}

#[test]
fn all_outputs_have_the_comparisons_of_a_run() {
    let summary = compared();
    let shown = |detail| shown(&summary, detail);
    let quiet = shown(Detail::Headline);
    let again = "The cause is the request: 30 of 40 requests were slow again";
    for (name, output, has_tables) in [
        ("quiet", quiet, false),
        ("brief", shown(Detail::Brief), true),
        ("verbose", shown(Detail::All), true),
        ("summary", Markdown(&summary).to_string(), true),
        ("junit", junit::xml(&summary), true),
        ("html", page::html(&summary), true),
    ] {
        for text in ["no difference seen in ", again] {
            assert!(output.contains(text), "{name}: {output}");
        }
        for text in ["p99.9 service", "30 (75.0 %)", "service p95"] {
            assert_eq!(output.contains(text), has_tables, "{name} {text}: {output}");
        }
    }
}

fn texts(most: usize) -> impl Strategy<Value = Vec<String>> {
    let long = "[a-z ]{80,140}".prop_map(|text| text + "\n\u{1b}[2J");
    vec(prop_oneof![2 => "[ -~]{1,40}".boxed(), 1 => long.boxed()], 0..most)
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    use Verdict::{
        BothBehind, ClosedLoop, GeneratorBehind, GeneratorFailing, NotStarted, NothingRecorded,
        OnSchedule, Paused, TargetBehind, TargetFailing, ThinkTimes,
    };
    let behind = [TargetBehind, GeneratorBehind, BothBehind, ThinkTimes];
    let failing =
        [TargetFailing, GeneratorFailing, NothingRecorded, Paused, NotStarted, ClosedLoop];
    prop_oneof![2 => Just(OnSchedule), 4 => prop::sample::select(behind.to_vec()), 4 => prop::sample::select(failing.to_vec())]
}

const LONG: Part = Part::Trend(Name("a name that is longer than a column of the table"));
const COUNTED: Part = Part::Counter(Name("events that a target counts on its own"));

prop_compose! {
    fn judged()(
        verdict in verdicts(),
        missed in texts(6),
        passed in texts(6),
        warnings in texts(4),
        findings in texts(6),
        incomplete in texts(2),
        baseline in texts(2),
        is_default: bool,
    ) -> Summary {
        let mut summary = empty();
        summary.is_closed = verdict == Verdict::ClosedLoop;
        summary.verdict = verdict;
        summary.title.rate_is_default = is_default;
        for text in &missed {
            summary.note(required(text, "1", Some(text)));
        }
        for text in &passed {
            summary.note(required(text, "1", None));
        }
        summary.warnings = warnings;
        let checks = ["starts", "steady", "own", "quota", "others", "sure"];
        let found = |(check, text): (&'static str, String)| Finding { check, is_well: text.as_str() > "f", text };
        summary.findings = checks.into_iter().zip(findings).map(found).collect();
        summary.incomplete = incomplete.into_iter().next();
        summary.beside = baseline.into_iter().next().map(Err);
        summary
    }
}

prop_compose! {
    fn results()(
        summary in judged(),
        (seconds, hz) in (1..3_u64, 1..2_000_u64),
        kinds in texts(9),
        statuses in vec(100..600_u16, 0..40),
        own in 0..5_usize,
        [skipped, unstarted, unfinished] in [0..3_u64, 0..3, 0..3],
    ) -> Summary {
        let measured = long(seconds, hz);
        let mut stats = measured.stats;
        stats.failures = kinds.iter().map(|kind| (FailureKind::of_group("any", kind), 7)).collect();
        stats.statuses = statuses.into_iter().map(|status| (status, 1)).collect();
        (stats.skipped, stats.unstarted, stats.unfinished) = (skipped, unstarted, unfinished);
        stats.labels.end(&ended("read", true, 1));
        let mut times = Histogram::new(3).unwrap();
        times.record_n(2_000_000, hz).unwrap();
        let parts = [Part::FirstByte, Part::FirstItem, Part::FirstItemResponse, Part::ItemGap];
        let parts = [&parts[..own.min(4)], &[LONG, COUNTED][..own / 2]].concat();
        let own_times =
            parts.iter().map(|part| OwnTimes { part: *part, times: times.clone(), untimed: 0 });
        Summary {
            own_times: own_times.collect(),
            stats,
            target_hz: measured.target_hz,
            achieved_hz: measured.achieved_hz,
            duration: measured.duration,
            over_time: measured.over_time,
            ..summary
        }
    }
}

proptest! {
    #[test]
    fn the_brief_report_has_16_lines_of_100_columns_at_most(summary in results()) {
        let brief = shown(&summary, Detail::Brief);
        prop_assert!(brief.lines().count() <= LINES, "{}", brief);
        prop_assert!(brief.lines().all(|line| line.chars().count() <= COLUMNS), "{}", brief);
        prop_assert!(!brief.contains('\u{1b}'), "{}", brief);
        prop_assert!(brief.lines().any(|line| line.starts_with("rate  ")), "{}", brief);
        prop_assert!(brief.lines().any(|line| line.starts_with("max  ")), "{}", brief);
    }

    #[test]
    fn the_quiet_report_is_the_headline(summary in results()) {
        let quiet = shown(&summary, Detail::Headline);
        prop_assert_eq!(quiet.lines().count(), 1, "{}", quiet);
        prop_assert_eq!(quiet, format!("{}\n", Headline::new(&summary)));
    }

    #[test]
    fn each_requirement_is_in_the_verbose_report(summary in results()) {
        let all = shown(&summary, Detail::All);
        let kinds = ["missed", "passed"].map(|kind| all.matches(&format!("\n{kind}  ")).count());
        let goals = summary.findings.iter().filter(|it| it.is_well && it.check == "sure").count();
        prop_assert_eq!(kinds.iter().sum::<usize>(), summary.required.len() + goals, "{}", all);
        prop_assert_eq!(kinds[0], summary.missed.len(), "{}", all);
        let noted = notes(&summary).len();
        prop_assert!(noted >= summary.required.len() && all.lines().count() > noted);
    }
}

#[test]
fn a_late_run_with_more_notes_keeps_its_verdict_and_its_blank_line() {
    let mut summary = good();
    summary.verdict = Verdict::GeneratorBehind;
    summary.incomplete = Some("only 1 of 10 slots started".to_owned());
    summary.warnings = (0..9).map(|number| format!("warning {number}")).collect();
    let brief = shown(&summary, Detail::Brief);
    let lines: Vec<_> = brief.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("more ")), "{brief}");
    let verdict = lines.iter().find(|line| line.starts_with("verdict "));
    assert!(verdict.is_some_and(|line| line.ends_with("or were stopped")), "{brief}");
    let table = lines.iter().position(|line| line.trim_start().starts_with("wait ")).unwrap();
    assert_eq!((lines[table - 1], lines.len()), ("", LINES), "{brief}");
}
