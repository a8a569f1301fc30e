//! What a run was like, in tables.

use super::numbers::{AT_LEAST, NONE, count, time};
use crate::console::human::{self, float, percent};
use crate::console::secret::public;
use crate::judged::summary::{Summary, Title};
use crate::load::details::Traffic;
use crate::load::own_times::OwnTimes;
use crate::recorded::confidence::{Batched, Confidence};
use crate::recorded::lateness::Lateness;
use crate::recorded::percentiles::Sample;
use crate::recorded::stats::OperationStats;
use crate::shown::times::{Cell, POINTS};
use hdrhistogram::Histogram;
use maud::{Markup, html};
use std::time::Duration;
use toml::Value;

/// What people look at first.
pub(crate) fn key_figures(summary: &Summary) -> Markup {
    let stats = &summary.stats;
    let (responses, due) = (stats.responses(), stats.due());
    let never_started = stats.unstarted + stats.skipped;
    let response = |quantile| time(responses, quantile);
    html! {
        dl.figures {
            (figure("asked for", &human::hz(summary.target_hz)))
            (figure("achieved", &human::hz(summary.achieved_hz)))
            (figure("completed", &count(stats.completed())))
            (bad_figure("failed", stats.failed(), stats.started()))
            (bad_figure("never started", never_started, due))
            @if stats.unfinished > 0 {
                (bad_figure("given up", stats.unfinished, stats.started()))
            }
            (figure("response p50", &response(0.5)))
            (figure("response p99", &response(0.99)))
            (figure("response max", &response(1.0)))
        }
        @if responses.at_least() > 0 {
            p.note {
                (AT_LEAST) " is at least: " (count(responses.at_least())) " of " (count(due))
                " slots had no good answer, and would have taken longer."
            }
        }
    }
}

pub(crate) fn figure(name: &str, figure: &str) -> Markup {
    html! { div { dt { (name) } dd { (figure) } } }
}

/// What should be none, and its share of `all`.
pub(crate) fn bad_figure(name: &str, figure: u64, all: u64) -> Markup {
    html! {
        div {
            dt { (name) }
            dd.bad[figure > 0] {
                (count(figure))
                @if figure > 0 { " " small { (percent(share(float(figure), float(all)))) } }
            }
        }
    }
}

/// Which slots and requests there were.
pub(crate) fn counts(summary: &Summary) -> Markup {
    let stats = &summary.stats;
    let slots =
        [("started", stats.started()), ("skipped", stats.skipped), ("unstarted", stats.unstarted)];
    let ends = [
        ("completed", stats.completed()),
        ("failed", stats.failed()),
        ("unfinished", stats.unfinished),
    ];
    html! {
        h3 { "Slots that were due: " (count(stats.due())) }
        (shares(&slots, stats.due()))
        h3 { "Requests that were started: " (count(stats.started())) }
        (shares(&ends, stats.started()))
    }
}

/// Distributions side by side.
pub(crate) fn percentiles(confidence: &Confidence<'_>) -> Markup {
    let stats = confidence.stats;
    let batched = [confidence.wait(), confidence.service(), confidence.response()];
    let columns = batched.each_ref().map(|times| times.sample);
    html! {
        table #percentiles {
            thead {
                tr { th { "" } th scope="col" { "wait" } th scope="col" { "service" } th scope="col" { "response" } }
            }
            tbody {
                tr { th scope="row" { "count" } @for sample in columns { td { (count(sample.times.len())) } } }
                @if stats.responses().at_least() > 0 {
                    tr { th scope="row" { "at least" } td { "" } td { "" } td { (count(stats.responses().at_least())) } }
                }
                tr { th scope="row" { "mean" } @for sample in columns { td { (mean(sample)) } } }
                @for (name, quantile) in POINTS {
                    tr { th scope="row" { (name) } @for times in &batched { (percentile(times, quantile)) } }
                }
            }
        }
        p.note { "In brackets: 95 % confidence intervals. ~: too few requests to be sure." }
        p.note { "Service is uncorrected: what a closed-loop tool would report. Response is corrected: from the intended start, of every slot." }
    }
}

fn percentile(times: &Batched<'_>, quantile: f64) -> Markup {
    let Cell { time, range } = Cell::percentile(times, quantile, AT_LEAST);
    let time = if times.sample.is_empty() { NONE } else { &time };
    html! { td { (time) @if !range.is_empty() { " " small { (range) } } } }
}

/// Failures by kind, and answers by status.
pub(crate) fn errors(stats: &OperationStats) -> Markup {
    let failures: Vec<_> = stats.failures.iter().map(|(kind, n)| (kind.to_string(), *n)).collect();
    let statuses: Vec<_> =
        stats.statuses.iter().map(|(status, n)| (status.to_string(), *n)).collect();
    html! {
        h3 { "Failures" }
        @if failures.is_empty() { p { "No request failed." } } @else { (shares(&failures, stats.started())) }
        @if stats.traffic.retried > 0 {
            p.note { "Sent again, because their connection was closed while idle: " (count(stats.traffic.retried)) }
        }
        h3 { "Answers by status" }
        @if statuses.is_empty() { p { "There was no answer." } }
        @else { (shares(&statuses, stats.statuses.values().sum())) }
    }
}

/// How long it took to open connections.
pub(crate) fn connections(summary: &Summary) -> Markup {
    let set_ups = &summary.stats.set_ups;
    let columns = [("TCP", &set_ups.connect), ("TLS", &set_ups.tls), ("all", &set_ups.all)];
    let Traffic { read, written, .. } = summary.stats.traffic;
    let mut facts = vec![
        ("names resolved in", human::time(summary.resolved_in)),
        ("bytes read", count(read)),
        ("bytes written", count(written)),
    ];
    if let Some(items) = summary.items() {
        let rate = float(items) / summary.duration.as_secs_f64();
        facts.push(("items", format!("{}: {}", count(items), human::hz(rate))));
    }
    html! {
        (quantiles(&columns))
        (rows(&facts))
        (parts(&summary.own_times))
    }
}

/// Times of the parts of answers, if there are any.
pub(crate) fn parts(own: &[OwnTimes]) -> Markup {
    let columns: Vec<_> = own.iter().map(|own| (own.part.name(), &own.times)).collect();
    html! {
        @if !columns.is_empty() { (quantiles(&columns)) }
        @for own in own.iter().filter(|own| own.unknown > 0) {
            p.note { (own.part.name()) ": of " (count(own.unknown)) " more it is not known." }
        }
    }
}

/// A column for each kind of times.
fn quantiles(columns: &[(&str, &Histogram<u64>)]) -> Markup {
    html! {
        table {
            thead { tr { th { "" } @for (name, _) in columns { th scope="col" { (name) } } } }
            tbody {
                tr { th scope="row" { "count" } @for (_, times) in columns { td { (count(times.len())) } } }
                @for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
                    tr { th scope="row" { (name) } @for (_, times) in columns { td { (time(Sample::exact(times), quantile)) } } }
                }
            }
        }
    }
}

/// Whose the lateness was.
pub(crate) fn lateness(lateness: Lateness) -> Markup {
    let parts = [
        ("by the target", lateness.target),
        ("by the generator", lateness.generator),
        ("held back by the burst ratio", lateness.held),
        ("while think times held connections", lateness.resting),
    ];
    let parts = parts.map(|(name, seconds)| (name, Duration::from_secs_f64(seconds)));
    html! { (times(&parts)) p.note { "Summed over all slots." } }
}

/// Where the schedule's time went.
pub(crate) fn ledger(summary: &Summary) -> Markup {
    let ledger = &summary.ledger;
    let parts = [
        ("allocated", ledger.allocated),
        ("idle", ledger.idle),
        ("waiting", ledger.waiting),
        ("backlog", ledger.backlog),
    ];
    html! {
        (times(&parts))
        p.note { "Together the " (human::time(ledger.elapsed)) " of the schedule, warm-up included." }
    }
}

/// How even the starts were, and what the load threads had of the processor.
pub(crate) fn evenness(summary: &Summary) -> Markup {
    let mut facts = vec![("ratio of starts to those asked for", format!("{:.4}", summary.ratio))];
    if let Some(gaps) = summary.gaps {
        facts.push(("gaps within 25 % of nominal", percent(gaps.within_25_percent)));
        facts.push((
            "coefficient of variation of gaps",
            format!("{:.3}", gaps.coefficient_of_variation),
        ));
    } else {
        facts
            .push(("gaps", "not judged: too few starts, or arrivals that are not even".to_owned()));
    }
    if let Some(time) = summary.processor {
        facts.push(("processor time wanted", human::time(time.wanted)));
        facts.push(("processor time had", human::time(time.had)));
    }
    if !summary.stats.spun.is_zero() {
        facts.push(("spinning, all threads together", human::time(summary.stats.spun)));
    }
    rows(&facts)
}

/// What it ran on.
pub(crate) fn machine(summary: &Summary) -> Markup {
    let machine = &summary.title.machine;
    rows(&[
        ("cores", machine.cores.to_string()),
        ("processor", machine.processor.clone().unwrap_or_else(|| NONE.to_owned())),
        ("system", machine.system.clone()),
        ("nanopace", env!("CARGO_PKG_VERSION").to_owned()),
    ])
}

/// The options that were given.
pub(crate) fn settings(summary: &Summary) -> Markup {
    let Title { settings, given, .. } = &summary.title;
    let given = settings.iter().filter(|(name, _)| given.contains(*name));
    let facts: Vec<_> = given.map(|(name, value)| (name.as_str(), setting(name, value))).collect();
    if facts.is_empty() {
        return html! { p { "No option was given: all had their defaults." } };
    }
    rows(&facts)
}

fn setting(name: &str, value: &Value) -> String {
    match value {
        Value::Array(values) if values.is_empty() => NONE.to_owned(),
        Value::Array(values) => {
            values.iter().map(|value| setting(name, value)).collect::<Vec<_>>().join("\n")
        }
        Value::String(text) => public(name, text),
        other => other.to_string(),
    }
}

pub(crate) fn rows(facts: &[(&str, String)]) -> Markup {
    html! {
        table.facts {
            tbody { @for (name, fact) in facts { tr { th scope="row" { (name) } td { (fact) } } } }
        }
    }
}

/// Counts with their share of `all`.
pub(crate) fn shares(parts: &[(impl AsRef<str>, u64)], all: u64) -> Markup {
    let rows =
        parts.iter().map(|(name, n)| (name.as_ref(), count(*n), share(float(*n), float(all))));
    bars(rows)
}

fn times(parts: &[(&str, Duration)]) -> Markup {
    let all: Duration = parts.iter().map(|part| part.1).sum();
    let share = |time: &Duration| share(time.as_secs_f64(), all.as_secs_f64());
    bars(parts.iter().map(|(name, time)| (*name, human::time(*time), share(time))))
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}

fn bars<'a>(rows: impl Iterator<Item = (&'a str, String, f64)>) -> Markup {
    html! {
        table.facts.bars {
            tbody {
                @for (name, figure, share) in rows {
                    tr {
                        th scope="row" { (name) }
                        td { (figure) }
                        td { (percent(share)) }
                        td.bar {
                            svg width="100%" height="10" aria-hidden="true" {
                                rect width=(format!("{:.2}%", share * 100.0)) height="10" {}
                            }
                        }
                    }
                }
            }
        }
    }
}

fn mean(sample: Sample<'_>) -> String {
    sample.shown_mean(AT_LEAST).unwrap_or_else(|| NONE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_secret() {
        let headers = Value::Array(vec!["Cookie: abc".into(), "A: b".into()]);
        assert_eq!(setting("header", &headers), "Cookie: (not shown)\nA: b");
    }
}
