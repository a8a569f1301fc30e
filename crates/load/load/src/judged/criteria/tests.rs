//! Tests how requirements are parsed and checked.

use super::*;
use crate::results::confidence::Confidence;
use crate::results::labels::Labels;
use crate::results::labels::tests::ended;
use crate::results::outcome::Due;
use crate::results::over_time::{Backlog, Brief, Interval};
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use hdrhistogram::Histogram;
use proptest::prelude::*;

pub(super) fn read(text: &str) -> Criterion {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn told(text: &str) -> String {
    text.parse::<Criterion>().expect_err(text).to_string()
}

pub(super) fn times(ms: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut times = Histogram::new(3).unwrap();
    ms.into_iter().for_each(|ms| times.record(ms * 1_000_000).unwrap());
    times
}

/// Checks a criterion against a run with 1000 slots in 10 s. 990 slots were started: 980 requests succeeded after 1 to
/// 980 ms, 7 failed, and 3 have no response yet. Returns the message if the criterion is missed.
fn check(criterion: &str) -> Option<String> {
    let (stats, service) = (OperationStats::new(), times(1..=980));
    let figures = Figures {
        wait: &times([0, 0, 2_000]),
        service: &service,
        response: Sample::exact(&service),
        due: 1000,
        started: 990,
        completed: 980,
        failed: 7,
        skipped: 4,
        retried: 2,
        unfinished: 3,
        unstarted: 6,
        ratio: 0.99,
        achieved_hz: 99.0,
        gaps_within_25_percent: Some(0.95),
        target_lateness: Duration::from_millis(1_100),
        ..nothing(&stats)
    };
    read(criterion).check(&figures).map(|missed| missed.to_string())
}

#[test]
fn a_label_has_figures_of_its_own() {
    let mut labels = Labels::default();
    for (label, is_well, ms) in [("a < b", true, 3), ("a < b", false, 7), ("other", true, 9)] {
        labels.end(&ended(label, is_well, ms));
    }
    let stats = OperationStats::new();
    let figures = Figures { labels: Some(&labels), ..nothing(&stats) };
    let missed = |text: &str| read(text).check(&figures).map(|missed| missed.to_string());
    for (text, told) in [
        (r#"max service of "a < b" < 4ms"#, None),
        (r#"completed of "a < b" = 1"#, None),
        (r#"errors of "a < b" <= 50%"#, None),
        (r#"errors of "other" < 1%"#, None),
        (r#"failed of "a < b" = 0"#, Some(r#"failed of "a < b" is 1, wanted = 0"#)),
        (r#"min response of "none" < 1s"#, Some(r#"min response of "none" is unknown"#)),
    ] {
        let found = missed(text);
        let is_told = found.as_deref().unwrap_or_default().starts_with(told.unwrap_or("?"));
        assert!(is_told || found.is_none() && told.is_none(), "{text}: {found:?}");
        assert_eq!(read(text).to_string(), text);
    }
    // If a request has failed, its response could have arrived at any later time.
    assert!(missed(r#"p99 response of "a < b" < 1s"#).is_some());
    for (text, error) in [
        (r#"p99 wait of "a" < 1s"#, "column 13: a label has only service and response times"),
        (r#"ratio of "a" > 1"#, "column 10: a label has only"),
        (r#"p99 response "a" < 1s"#, r#"column 14: "\"a\"" is a word too many"#),
    ] {
        assert!(told(text).starts_with(error), "{text}: {}", told(text));
    }
}

#[test]
fn texts_and_their_meaning() {
    for (text, meaning) in [
        ("p99 response < 50ms", "p99 response < 50ms"),
        ("response p99<50ms", "p99 response < 50ms"),
        ("  P99.90\tWait  <=  1s   500ms ", "p99.9 wait <= 1s 500ms"),
        ("ERRORS<0.1 %", "errors < 0.1 %"),
        ("ratio>0.99", "ratio > 0.99"),
        ("max wait <= 2s", "max wait <= 2s"),
        ("p99 First Item < 1s", "p99 first-item < 1s"),
        ("item-gap p99.9 < 50ms", "p99.9 item-gap < 50ms"),
        ("mean service < 3ms", "mean service < 3ms"),
        ("skipped == 0", "skipped = 0"),
        ("skipped = 0", "skipped = 0"),
        ("count setup = 16", "count setup = 16"),
        ("achieved > 4.9k/s", "achieved > 4.9k/s"),
        ("gaps > 95%", "gaps > 95%"),
        ("lateness  Generator < 1s", "lateness generator < 1s"),
        ("Confidence  p99 < 5%", "confidence p99 response < 5%"),
        ("confidence service p99.90 <= 0.1", "confidence p99.9 service <= 0.1"),
    ] {
        assert_eq!(read(text).to_string(), meaning, "{text}");
    }
}

#[test]
fn errors_point_at_the_column_and_say_what_to_write() {
    for (text, expected) in [
        ("", "column 1: it is empty; write for example p99 response < 50ms"),
        ("   ", "column 1: it is empty; write for example"),
        ("< 5ms", r#"column 1: there is nothing before "<"; write for example"#),
        ("p99 response", "column 5: there is no operator; write <, <=, >, >= or ="),
        (
            "p99 respnse < 50ms",
            r#"column 5: "respnse" is not a figure; write wait, service, response, setup or, with"#,
        ),
        (
            "p99 gaps < 1s",
            r#"column 5: "gaps" is not a figure; write wait, service, response, setup"#,
        ),
        ("p101 wait < 1s", r#"column 1: "p101" is not a figure; write mean, min, max, count"#),
        ("wait p101 < 1s", r#"column 6: "p101" is not a figure; write mean, min, max, count"#),
        ("respnse p99 < 1s", r#"column 1: "respnse" is not a figure; write wait,"#),
        ("p99 < 1s", r#"column 1: "p99" needs a second word; write for example p99 response"#),
        ("wait < 1s", r#"column 1: "wait" needs a second word; write for example p99"#),
        ("lateness < 1s", r#"column 1: "lateness" needs a second word; write lateness target"#),
        ("lateness us < 1s", r#"column 10: "us" is not a figure; write lateness target or"#),
        (
            "error < 1%",
            r#"column 1: "error" is not a figure; write a figure such as p99 response, mean wait,"#,
        ),
        ("confidence < 5%", r#"column 1: "confidence" needs a second word; write a percentile"#),
        (
            "confidence p100 < 5%",
            r#"column 12: "p100" is not a figure; write a percentile between"#,
        ),
        ("confidence p99 < 5ms", r#"column 18: "5ms" is not a share from 0 to 1; write for"#),
        ("failed requests < 5", r#"column 8: "requests" is a word too many; write only failed"#),
        ("requests failed < 5", r#"column 1: "requests" is not a figure; write only failed"#),
        ("p99 response is < 5ms", r#"column 14: "is" is a word too many; write for example"#),
        ("skipped != 0", r#"column 9: "!=" is not an operator; write <, <=, >, >= or ="#),
        ("skipped =< 0", r#"column 9: "=<" is not an operator"#),
        ("skipped ≤ 0", r#"column 9: "≤" is not an operator"#),
        ("skipped <", "column 9: nothing follows the operator; write a whole number"),
        ("max wait < 50", r#"column 12: "50" is not a time; write a number and its unit"#),
        ("errors < 5", r#"column 10: "5" is not a share from 0 to 1; write for example 0.1%"#),
        ("failed < 1%", r#"column 10: "1%" is not a count; write a whole number"#),
        ("achieved > 0", r#"column 12: "0" is not a rate; write for example 500/s"#),
        ("p99 wait < 5ms < 6ms", r#"column 12: "5ms < 6ms" is not a time"#),
        ("p99 größe < 5ms", r#"column 5: "größe" is not a figure"#),
        ("größe < 5\nms", r#"column 1: "größe" is not a figure"#),
        ("skipped < 5\nms", r#"column 11: "5 ms" is not a count"#),
    ] {
        assert!(told(text).starts_with(expected), "{text:?}: {}", told(text));
    }
}

#[test]
fn figures_are_compared_with_their_limits() {
    for holds in [
        "p50 service <= 491ms",
        "p99 response < 972ms",
        "max wait < 2.01s",
        "min service > 999us",
        "mean service < 491ms",
        "count wait = 3",
        "count setup = 0",
        "due = 1000",
        "started = 990",
        "completed >= 980",
        "failed = 7",
        "skipped = 4",
        "unfinished = 3",
        "unstarted <= 6",
        "errors < 0.71%",
        "ratio >= 99%",
        "ratio = 0.99",
        "achieved = 99/s",
        "gaps >= 95%",
        "lateness target = 1.1s",
        "lateness generator = 0s",
    ] {
        assert_eq!(check(holds), None, "{holds}");
    }
}

#[test]
fn a_missed_criterion_shows_the_figure_and_the_limit() {
    for (text, missed) in [
        ("p50 service < 50ms", "p50 service is 490ms, wanted < 50ms"),
        ("mean wait < 50ms", "mean wait is 667ms, wanted < 50ms"),
        ("errors < 0.1%", "errors are 0.71 %, wanted < 0.1%"),
        ("failed < 7", "failed is 7, wanted < 7"),
        ("ratio > 0.99", "ratio is 0.99, wanted > 0.99"),
        ("skipped == 0", "skipped is 4, wanted = 0"),
        ("gaps > 95%", "gaps are 95.0 %, wanted > 95%"),
        ("achieved > 4.9k/s", "achieved is 99.0/s, wanted > 4.9k/s"),
        ("lateness target < 1s", "lateness target is 1.10s, wanted < 1s"),
        ("max setup < 1s", "max setup is unknown (no such time was recorded), wanted < 1s"),
    ] {
        assert_eq!(check(text).as_deref(), Some(missed), "{text}");
    }
}

fn check_bounded(criterion: &str) -> Option<String> {
    let (stats, bounds) = (OperationStats::new(), times([350; 40]));
    let all = times([1; 460].into_iter().chain([350; 40]));
    let figures = Figures { response: Sample::bounded(&all, &bounds), ..nothing(&stats) };
    read(criterion).check(&figures).map(|missed| missed.to_string())
}

#[test]
fn a_lower_bound_is_never_short_enough() {
    for holds in [
        "p92 response < 2ms",
        "p50 response <= 1.01ms",
        "min response < 2ms",
        "p99 response > 300ms",
        "max response >= 350ms",
        "mean response > 28ms",
        "count response = 500",
    ] {
        assert_eq!(check_bounded(holds), None, "{holds}");
    }
    for (text, shown) in [
        ("p99 response < 500ms", ">=350ms"),
        ("p99 response <= 300ms", ">=350ms"),
        ("p92.1 response < 1h", ">=350ms"),
        ("max response < 1h", ">=350ms"),
        ("mean response < 1h", ">=28.9ms"),
        ("p99 response > 500ms", ">=350ms"),
        ("max response = 350ms", ">=350.2ms"),
    ] {
        let missed = check_bounded(text).unwrap_or_default();
        let told = format!("{shown} (40 of 500 times are lower bounds), wanted");
        assert!(missed.contains(&told), "{text}: {missed}");
    }
}

#[test]
fn short_lower_bounds_do_not_hide_what_was_measured() {
    // Half of the requests were given up at once, so their bounds are 0, and the median can be as large as the largest
    // time of the other requests.
    let (stats, bounds) = (OperationStats::new(), times([0; 4]));
    let all = times([0, 0, 0, 0, 10, 20, 30, 40]);
    let figures = Figures { response: Sample::bounded(&all, &bounds), ..nothing(&stats) };
    let missed = |text: &str| read(text).check(&figures).map(|missed| missed.to_string());
    assert_eq!(missed("p50 response < 41ms"), None);
    assert_eq!(
        missed("p50 response < 40ms").as_deref(),
        Some(
            "p50 response is between 0.00ns and 40.0ms (4 of 8 times are lower bounds), wanted < 40ms"
        )
    );
    let (all, bound) = (times([10, 20]), times([20]));
    let figures = Figures { response: Sample::bounded(&all, &bound), ..nothing(&stats) };
    let told = read("max response < 1s").check(&figures).map(|missed| missed.to_string());
    let told = told.unwrap_or_default();
    assert!(told.contains(" (1 of 2 times is a lower bound), wanted < 1s"), "{told}");
    assert_eq!(missed("p25 response < 21ms"), None);
}

#[test]
fn each_operator_at_its_limit() {
    for (operator, holds) in [
        ("<", [true, false, false]),
        ("<=", [true, true, false]),
        (">", [false, false, true]),
        (">=", [false, true, true]),
        ("=", [false, true, false]),
    ] {
        for (limit, holds) in ["8", "7", "6"].into_iter().zip(holds) {
            let text = format!("failed {operator} {limit}");
            assert_eq!(check(&text).is_none(), holds, "{text}, and 7 failed");
        }
    }
}

pub(super) fn nothing(stats: &OperationStats) -> Figures<'_> {
    Figures::so_far(stats)
}

#[test]
fn a_run_without_a_figure_misses_every_criterion_about_it() {
    let stats = OperationStats::new();
    let figures = nothing(&stats);
    for (figure, limit, unknown) in [
        ("p99 response", "1s", "p99 response is unknown (no such time was recorded)"),
        ("mean wait", "1s", "mean wait is unknown (no such time was recorded)"),
        ("errors", "1%", "errors are unknown (no request was started)"),
        ("ratio", "1", "ratio is unknown (no slot was due)"),
        ("gaps", "1", "gaps are unknown (no gap between even arrivals was measured)"),
        ("achieved", "1/s", "achieved is unknown (too few requests were started)"),
        (
            "confidence p99 response",
            "5%",
            "confidence p99 response is unknown (too few requests for a reliable interval)",
        ),
    ] {
        for operator in ["<", "<=", ">", ">=", "="] {
            let criterion = read(&format!("{figure} {operator} {limit}"));
            let missed = criterion.check(&figures).map(|missed| missed.to_string());
            assert_eq!(missed, Some(format!("{unknown}, wanted {operator} {limit}")));
        }
    }
    assert_eq!(read("failed = 0").check(&figures), None);
}

/// Checks a criterion against 40 batches that each contain the response times from 1 to 250 ns. The median is 125 ns,
/// and its confidence interval reaches from 123 to 128 ns. Only one of the 10 000 times has a rank beyond the p99.99.
fn check_sure(criterion: &str) -> Option<String> {
    let mut stats = OperationStats::new();
    let interval = |second: u64| {
        let (mut due, brief) = (Due::new(), Brief::new());
        (1..=250).for_each(|ns| due.response.record(ns).unwrap());
        let [from, to] = [second, second + 1].map(Duration::from_secs);
        Interval { from, to, asked: 250.0, backlog: Backlog::default(), brief, due }
    };
    let batches: Vec<_> = (0..40).map(interval).collect();
    for batch in &batches {
        stats.response.add(&batch.due.response).unwrap();
    }
    let confidence = Confidence { stats: &stats, batches };
    let figures = Figures { confidence: Some(&confidence), ..nothing(&stats) };
    read(criterion).check(&figures).map(|missed| missed.to_string())
}

#[test]
fn the_confidence_of_a_percentile_counts_its_wider_side() {
    for holds in ["confidence p50 < 2.41%", "confidence p50 >= 0.024"] {
        assert_eq!(check_sure(holds), None, "{holds}");
    }
    let told = "confidence p50 response is 2.40 %, wanted < 2%";
    assert_eq!(check_sure("confidence p50 < 2%").as_deref(), Some(told));
    for unknown in ["p99.99 response", "p50 service", "p50 wait"] {
        let missed = check_sure(&format!("confidence {unknown} < 100%"));
        let told = format!(
            "confidence {unknown} is unknown (too few requests for a reliable interval), wanted < 100%"
        );
        assert_eq!(missed, Some(told));
    }
}

#[test]
fn the_criteria_of_options_are_those_that_could_be_written() {
    assert_eq!(Criterion::at_least_ratio(0.99), read("ratio >= 0.99"));
    assert_eq!(Criterion::at_least_ratio(1.0), read("ratio >= 1"));
    assert_eq!(Criterion::default_errors(), read("errors <= 1%"));
}

#[test]
fn objectives_are_missed_above_a_rate() {
    for (text, breaks) in [
        ("p99 response < 50ms", true),
        ("max wait <= 1s", true),
        ("errors < 1%", true),
        ("unstarted <= 5", true),
        ("ratio > 0.99", true),
        ("gaps >= 90%", true),
        ("p99 response > 50ms", false),
        ("p99 response = 50ms", false),
        ("ratio < 0.99", false),
        ("count setup < 5", false),
        ("completed > 5", false),
        ("achieved > 5/s", false),
    ] {
        assert_eq!(read(text).breaks_above_a_rate(), breaks, "{text}");
    }
}

#[test]
fn a_criterion_is_decided_by_the_rarest_requests() {
    for (text, share) in [
        ("p99 response < 50ms", Some(0.01)),
        ("p99.9 wait < 50ms", Some(0.001)),
        ("p5 wait < 50ms", Some(0.05)),
        ("max wait < 50ms", None),
        ("p100 wait < 50ms", None),
        ("mean wait < 50ms", None),
        ("errors < 0.1%", Some(0.001)),
        ("errors <= 0%", None),
        ("ratio > 0.9", None),
    ] {
        let told = read(text).deciding_share();
        assert_eq!(told.is_some(), share.is_some(), "{text}: {told:?}");
        assert!(told.zip(share).is_none_or(|(a, b)| (a - b).abs() < 1e-9), "{text}: {told:?}");
    }
}

#[test]
fn errors_and_failures_are_about_errors() {
    for (text, names) in [
        ("errors < 1%", true),
        ("failed < 5", true),
        ("completed > 5", false),
        ("ratio > 0.9", false),
        ("p99 wait < 1s", false),
    ] {
        assert_eq!(read(text).names_errors(), names, "{text}");
    }
}

const PIECES: &str = "confidence p99 p99.9 response wait errors ratio failed lateness target achieved x \
                      < <= = ! 50ms 0.1% 5k/s 7 nan 1e999 é ≤ µs % - . 99999999999999999999";

fn nearly() -> impl Strategy<Value = String> {
    let pieces: Vec<_> = PIECES.split(' ').chain([" ", " ", "\t", "\n"]).collect();
    let piece = prop_oneof![proptest::sample::select(pieces).prop_map(str::to_owned), ".?"];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_text_is_a_criterion_or_has_an_error_inside_it(
        text in prop_oneof![nearly(), ".*"],
    ) {
        match text.parse::<Criterion>() {
            Ok(criterion) => {
                prop_assert_eq!(criterion.to_string().parse(), Ok(criterion));
            }
            Err(error) => {
                let columns = 1..=text.chars().count().max(1);
                prop_assert!(columns.contains(&error.column()), "{}", error);
                prop_assert_eq!(error.to_string().lines().count(), 1);
                prop_assert!(error.to_string().contains("; write "), "{}", error);
            }
        }
    }

    #[test]
    fn a_formatted_criterion_is_read_back(
        figure in proptest::sample::select(&["p99 response", "setup p0.1", "max wait"][..]),
        operator in proptest::sample::select(&["<", "<=", ">", ">=", "=", "=="][..]),
        ns in any::<u64>(),
    ) {
        let limit = humantime::format_duration(Duration::from_nanos(ns));
        let criterion = read(&format!("{figure}{operator}{limit}"));
        prop_assert_eq!(read(&criterion.to_string()), criterion);
    }
}
