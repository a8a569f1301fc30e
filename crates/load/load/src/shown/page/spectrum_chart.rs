//! Draws percentile spectra of both kinds of times of a run, or of both sides of a comparison.

use super::chart::{Chart, key, key_at_least, line, steps, upward};
use super::numbers::{NONE, time};
use super::over_time::log_axis;
use crate::console::axis::LogTimeAxis;
use crate::console::human;
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use crate::shown::spectrum::{Point, nines, points};
use hdrhistogram::Histogram;
use maud::{Markup, html};

const HEIGHT: u32 = 260;
const TABLE: &str = "spectrum-table";

pub(crate) const ABOUT: &str = "Each percentile label after p90 has one more nine.";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spectrum<'run> {
    pub(crate) name: &'static str,
    pub(crate) column: &'static str,
    pub(crate) class: &'static str,
    pub(crate) sample: Sample<'run>,
}

pub(crate) fn spectrum(stats: &OperationStats, hidden: Option<&str>) -> Markup {
    let service = Spectrum {
        name: "service, uncorrected",
        column: "service",
        class: "line uncorrected",
        sample: Sample::exact(&stats.service),
    };
    let response = Spectrum {
        name: "response, corrected",
        column: "response",
        class: "line corrected",
        sample: stats.responses(),
    };
    let name = "Percentiles, uncorrected and corrected";
    spectra(name, hidden.unwrap_or(ABOUT), [service, response])
}

pub(crate) fn spectra(name: &'static str, about: &str, both: [Spectrum<'_>; 2]) -> Markup {
    let shown: Vec<_> = both.into_iter().filter(|one| !one.sample.is_empty()).collect();
    let Some(longest) = shown.iter().map(|one| one.sample.times).max_by_key(|it| it.len()) else {
        return html! { p { "No request was due, so there are no response times." } };
    };
    let axis = log_axis(shown.iter().map(|one| one.sample.times));
    let most = extent(longest);
    let chart = Chart {
        id: "spectrum",
        name,
        about: about.to_owned(),
        height: HEIGHT,
        silent: Vec::new(),
        across: labels(most),
        up: axis.ticks().collect(),
        key: html! {
            @for one in &shown { (key(one.class, one.name)) }
            @if shown.iter().any(|one| one.sample.at_least() > 0) { (key_at_least()) }
        },
        table: (TABLE, "1 2"),
        body: html! {
            @for one in &shown {
                (line(one.class, &path(one.sample.times, axis, most)))
                (line(&format!("{} upward", one.class), &bounds(one.sample, axis, most)))
            }
        },
    };
    html! { (chart.figure()) (table(longest, both)) }
}

/// Returns the number of nines at the end of the axis. It is at least one, so that a run with only a few requests has a
/// chart too.
fn extent(times: &Histogram<u64>) -> f64 {
    human::float(times.len()).log10().max(1.0)
}

fn labels(most: f64) -> Vec<(f64, String)> {
    let named = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
    let more = [
        ("p99.999", 0.999_99),
        ("p99.9999", 0.999_999),
        ("7 nines", 0.999_999_9),
        ("8 nines", 0.999_999_99),
    ];
    let labels =
        named.into_iter().chain(more).map(|(name, at)| (nines(at) / most, name.to_owned()));
    labels.take_while(|(part, _)| *part < 1.0 + 1e-9).collect()
}

/// Returns the horizontal span of each time, which reaches from its own quantile to the next one. The span of the
/// longest time has no width.
fn spans(times: &Histogram<u64>, most: f64) -> Vec<(f64, f64, Point)> {
    let points = points(times);
    let end = extent(times) / most;
    let place = |point: &Point| (nines(point.quantile) / most).min(end);
    let next = points.iter().skip(1).map(place).chain([end]);
    points.iter().zip(next).map(|(point, next)| (place(point), next, *point)).collect()
}

fn path(times: &Histogram<u64>, axis: LogTimeAxis, most: f64) -> String {
    let levels = spans(times, most).into_iter();
    steps(levels.map(|(from, to, point)| (from, to, Some(axis.part(point.ns)))), HEIGHT)
}

fn bounds(sample: Sample<'_>, axis: LogTimeAxis, most: f64) -> String {
    let spans = spans(sample.times, most).into_iter();
    let bounds = spans.filter(|(_, _, point)| sample.is_at_least(point.quantile));
    upward(bounds.map(|(from, to, point)| ((from, to), axis.part(point.ns))), HEIGHT)
}

fn table(longest: &Histogram<u64>, both: [Spectrum<'_>; 2]) -> Markup {
    html! {
        details {
            summary { "All percentiles" }
            div.wide {
                table id=(TABLE) {
                    thead {
                        tr { th scope="col" { "percentile" } @for one in &both { th scope="col" { (one.column) } } }
                    }
                    tbody {
                        @for (_, to, point) in spans(longest, extent(longest)) {
                            tr data-x=(format!("{to:.4}")) {
                                td { (name(point.quantile)) }
                                @for one in &both { td { (cell(one.sample, point.quantile)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(sample: Sample<'_>, quantile: f64) -> String {
    let is_known = quantile >= 1.0 || nines(quantile) < extent(sample.times);
    if is_known { time(sample, quantile) } else { NONE.to_owned() }
}

fn name(quantile: f64) -> String {
    if quantile < 1.0 { format!("p{}", (quantile * 1e14).round() / 1e12) } else { "max".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_names() {
        let names = [0.0, 0.5, 0.93, 0.999, 0.999_97, 1.0].map(name);
        assert_eq!(names, ["p0", "p50", "p93", "p99.9", "p99.997", "max"]);
    }

    #[test]
    fn an_axis_goes_as_far_as_there_are_requests() {
        let last = |most| labels(most).pop().map(|(_, name)| name);
        assert_eq!(last(1.0).as_deref(), Some("p90"));
        assert_eq!(last(4.7).as_deref(), Some("p99.99"));
    }
}
