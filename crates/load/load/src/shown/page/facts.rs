//! Writes the figures of a run as tiles and tables.

use super::numbers::{AT_LEAST, NONE, count, time};
use crate::console::human::{self, float, percent};
use crate::console::secret::public;
use crate::judged::summary::{Summary, Title};
use crate::load::details::Traffic;
use crate::load::own_times::{OwnTimes, counters, timed};
use crate::results::confidence::{Batched, Confidence};
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use crate::shown::times::{Cell, POINTS};
use hdrhistogram::Histogram;
use maud::{Markup, html};
use std::time::Duration;
use toml::Value;

/// Returns the name of the requested rate, which is a mean if it has changed.
pub(crate) fn requested_rate(changes: bool) -> &'static str {
    if changes { "requested rate on average" } else { "requested rate" }
}

pub(crate) fn key_figures(summary: &Summary) -> Markup {
    let stats = &summary.stats;
    let (responses, due) = (stats.responses(), stats.due());
    let never_started = stats.unstarted + stats.skipped;
    let response = |quantile| time(responses, quantile);
    let [requested, achieved] = [summary.target_hz, summary.achieved_hz].map(human::hz);
    html! {
        dl.figures {
            @if !summary.is_closed { (figure(requested_rate(summary.changes_rate), &requested)) }
            (figure("achieved rate", &achieved))
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
                (AT_LEAST) " marks lower bounds: " (count(responses.at_least())) " of " (count(due))
                " requests did not complete."
            }
        }
    }
}

pub(crate) fn figure(name: &str, figure: &str) -> Markup {
    html! { div { dt { (name) } dd { (figure) } } }
}

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

pub(crate) fn counts(summary: &Summary) -> Markup {
    let stats = &summary.stats;
    let slots = [
        ("started", stats.started()),
        ("skipped", stats.skipped),
        ("never started", stats.unstarted),
    ];
    let ends = [
        ("completed", stats.completed()),
        ("failed", stats.failed()),
        ("given up", stats.unfinished),
    ];
    html! {
        h3 { "Scheduled requests: " (count(stats.due())) }
        (shares(&slots, stats.due()))
        h3 { "Started requests: " (count(stats.started())) }
        (shares(&ends, stats.started()))
    }
}

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
        p.note { "In brackets: 95 % confidence intervals. ~: too few requests for a reliable interval." }
        p.note { "Service time is uncorrected: a closed-loop tool would report it. Response time is corrected: it begins at the intended start, and every scheduled request has one." }
    }
}

fn percentile(times: &Batched<'_>, quantile: f64) -> Markup {
    let Cell { time, range } = Cell::percentile(times, quantile, AT_LEAST);
    let time = if times.sample.is_empty() { NONE } else { &time };
    html! { td { (time) @if !range.is_empty() { " " small { (range) } } } }
}

pub(crate) fn errors(stats: &OperationStats) -> Markup {
    let failures: Vec<_> = stats.failures.iter().map(|(kind, n)| (kind.to_string(), *n)).collect();
    let statuses: Vec<_> =
        stats.statuses.iter().map(|(status, n)| (status.to_string(), *n)).collect();
    html! {
        h3 { "Failures" }
        @if failures.is_empty() { p { "No request failed." } } @else { (shares(&failures, stats.started())) }
        @if stats.traffic.retried > 0 {
            p.note { "Retried, because an idle connection was closed: " (count(stats.traffic.retried)) }
        }
        @if !statuses.is_empty() {
            h3 { "Responses by status" }
            (shares(&statuses, stats.statuses.values().sum()))
        }
    }
}

pub(crate) fn connections(summary: &Summary) -> Markup {
    let set_ups = &summary.stats.set_ups;
    let columns = [("TCP", &set_ups.connect), ("TLS", &set_ups.tls), ("all", &set_ups.all)];
    let Traffic { read, written, .. } = summary.stats.traffic;
    let mut facts = vec![
        ("names resolved in", human::time(summary.resolved_in)),
        ("bytes read", count(read)),
        ("bytes written", count(written)),
    ];
    facts.extend(summary.pool_growth().map(|growth| ("pool", growth)));
    facts.extend(summary.realtime.map(|class| ("realtime", class.to_string())));
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

pub(crate) fn parts(own: &[OwnTimes]) -> Markup {
    let columns: Vec<_> = timed(own).map(|own| (own.part.name(), &own.times)).collect();
    let counters: Vec<_> = counters(own).map(|(name, value)| (name, count(value))).collect();
    html! {
        @if !columns.is_empty() { (quantiles(&columns)) }
        @for own in timed(own).filter(|own| own.untimed > 0) {
            p.note { (own.part.name()) ": unknown for " (count(own.untimed)) " responses." }
        }
        @if !counters.is_empty() { (rows(&counters)) }
    }
}

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

pub(crate) fn lateness(stats: &OperationStats) -> Markup {
    let shares = stats.lateness.shares();
    html! {
        @if shares.is_empty() { p { "No request was late." } }
        @else {
            (bars(shares.into_iter().map(|(cause, share)| (cause, String::new(), share))))
            p.note { "The mean lateness of a slot was " (human::time(stats.mean_lateness())) "." }
        }
    }
}

pub(crate) fn ledger(summary: &Summary) -> Markup {
    let Some(ledger) = &summary.ledger else {
        return html! { p { "Each load and each process has its own ledger." } };
    };
    let parts = [
        ("allocated", ledger.allocated),
        ("idle", ledger.idle),
        ("waiting", ledger.waiting),
        ("backlog", ledger.backlog),
    ];
    html! {
        (times(&parts))
        p.note { "The sum is the " (human::long_time(ledger.elapsed)) " of the schedule, including the warm-up." }
    }
}

pub(crate) fn starts(summary: &Summary) -> Markup {
    let mut facts = Vec::new();
    if let Some(ratio) = summary.known_ratio().filter(|_| !summary.is_closed) {
        facts.push(("share of the requested load that started", format!("{:.2} %", ratio * 100.0)));
    }
    if let Some(gaps) = summary.gaps {
        facts.push(("gaps within 25 % of nominal", percent(gaps.within_25_percent)));
        facts.push((
            "coefficient of variation of gaps",
            format!("{:.3}", gaps.coefficient_of_variation),
        ));
    } else if !summary.is_closed {
        let why = "not judged: too few starts, uneven arrivals, or several loads or processes";
        facts.push(("gaps", why.to_owned()));
    }
    if let Some(time) = summary.processor {
        facts.push(("CPU time needed", human::time(time.wanted)));
        facts.push(("CPU time received", human::time(time.had)));
    }
    if !summary.stats.spun.is_zero() {
        facts.push(("spinning, all threads together", human::time(summary.stats.spun)));
    }
    html! {
        (rows(&facts))
        @for found in summary.findings.iter().filter(|found| found.is_well) { p.note { (found.text) } }
    }
}

pub(crate) fn machine(summary: &Summary) -> Markup {
    let machine = &summary.title.machine;
    rows(&[
        ("cores", machine.cores.to_string()),
        ("CPU", machine.processor.clone().unwrap_or_else(|| NONE.to_owned())),
        ("system", machine.system.clone()),
        ("nanopace", env!("CARGO_PKG_VERSION").to_owned()),
    ])
}

pub(crate) fn settings(summary: &Summary) -> Markup {
    let Title { settings, given, .. } = &summary.title;
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let given = settings.iter().filter(|(name, value)| given.contains(*name) && !is_empty(value));
    let facts: Vec<_> = given.map(|(name, value)| (name.as_str(), setting(name, value))).collect();
    if facts.is_empty() {
        return html! { p { "No option was given. All options have their defaults." } };
    }
    rows(&facts)
}

fn setting(name: &str, value: &Value) -> String {
    match value {
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
