//! Writes the HTML page of a run as one self-contained file.
//!
//! The page is made only from the [`Summary`]. `maud` escapes all strings that come from outside, such as the URL. The
//! page's `Content-Security-Policy` allows only the style and the script of the page. The script shows the figures at
//! the position of the pointer. Without the script, all figures are still on the page.

pub(crate) mod baseline;
mod chart;
pub(crate) mod facts;
mod heat;
mod kinds;
pub(crate) mod labels;
mod missing;
pub(crate) mod numbers;
mod over_time;
pub(crate) mod spectrum_chart;
#[cfg(test)]
pub(crate) mod tests;
mod times_table;

use super::curve::Curve;
use super::report::notes;
use crate::console::human;
use crate::judged::advice::advice;
use crate::judged::headline::{Grade, Headline};
use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict;
use crate::results::confidence::Confidence;
use crate::results::over_time::OverTime;
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use over_time::Times;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// Returns the page of a run. If the run had several loads, each load has a part after the part of the whole run.
pub(crate) fn html(summary: &Summary) -> String {
    let content = html! {
        (content(summary))
        @for LoadResults { name, summary, .. } in &summary.loads {
            article { h2.load { "Load " (name) } (with_own_ids(name, content(summary))) }
        }
    };
    document(&summary.title.url, &content)
}

const IDS: [&str; 4] = [" id=\"", " data-table=\"", " aria-labelledby=\"", " aria-describedby=\""];

/// Makes the IDs of a part of the page unique. Quotation marks in strings are escaped, so no string can be mistaken
/// for an attribute.
fn with_own_ids(part: &str, content: Markup) -> Markup {
    let unique = |html: String, id: &&str| html.replace(*id, &format!("{id}{part}-"));
    PreEscaped(IDS.iter().fold(content.into_string(), unique))
}

fn content(summary: &Summary) -> Markup {
    let stats = &summary.stats;
    let hidden = hidden(stats, summary.verdict);
    let over_time = charts(&summary.over_time, stats, hidden.as_deref());
    let labels = labels::section(stats);
    html! {
        (heading(summary)) (over_time) (labels) (baseline::section(summary))
        @if let Some(repetition) = &summary.repetition { (baseline::repeated(repetition)) }
        (tables(summary))
    }
}

pub(crate) fn document(title: &str, content: &Markup) -> String {
    let title = format!("{title} — nanopace");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn heading(summary: &Summary) -> Markup {
    let Headline { grade, result, why } = Headline::new(summary);
    let start = humantime::format_rfc3339_seconds(summary.title.start);
    html! {
        header {
            h1.good[grade == Grade::Good].doubtful[grade == Grade::Doubtful] { (result) }
            @if summary.missed.is_empty() { p.verdict { (why) } }
            @for (kind, text) in notes(summary) {
                p.note.missed[["missed", "load"].contains(&kind)] { (kind) ": " (text) }
            }
            @if let Some(advice) = advice(summary) { p.note { "advice: " (advice) } }
            p.what { bdi { (summary.title.url) } " · " (start) " · " (human::long_time(summary.duration)) " recorded" }
            (facts::key_figures(summary))
        }
        section { h2 { "Settings" } (facts::settings(summary)) }
    }
}

pub(crate) fn charts(over_time: &OverTime, stats: &OperationStats, hidden: Option<&str>) -> Markup {
    let times = Times::new(over_time);
    html! {
        section {
            h2 { "Over time" }
            @if times.intervals().is_empty() {
                p { "The run ended before anything was recorded." }
            } @else {
                (times.rates())
                (times.backlog())
                (missing::chart(&times, stats.skipped))
                (heat::map(&times))
                (kinds::charts(&times))
                (times_table::table(&times))
            }
        }
        section {
            h2 { "Percentiles" }
            (spectrum_chart::spectrum(stats, hidden))
            (facts::percentiles(&Confidence::new(stats, over_time)))
        }
    }
}

pub(crate) fn hidden(stats: &OperationStats, verdict: Verdict) -> Option<String> {
    let (uncorrected, corrected) = (Sample::exact(&stats.service), stats.responses());
    Curve { uncorrected, corrected, verdict }.hidden()
}

fn tables(summary: &Summary) -> Markup {
    let of_schedule =
        [("Lateness", facts::lateness(&summary.stats)), ("Ledger", facts::ledger(summary))];
    let sections = [
        ("Counts", facts::counts(summary)),
        ("Errors", facts::errors(&summary.stats)),
        ("Starts", facts::starts(summary)),
        ("Connections", facts::connections(summary)),
        ("Machine", facts::machine(summary)),
    ];
    side_by_side(sections.into_iter().chain(of_schedule.into_iter().filter(|_| !summary.is_closed)))
}

pub(crate) fn side_by_side(sections: impl IntoIterator<Item = (&'static str, Markup)>) -> Markup {
    html! {
        div.sections { @for (name, content) in sections { section { h2 { (name) } (content) } } }
    }
}
