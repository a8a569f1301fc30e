//! The percentile spectrum: what a closed-loop tool would report, and what users saw.

use super::chart::{Chart, key, key_at_least, line, steps, upward};
use super::numbers::time;
use super::over_time::log_axis;
use crate::console::axis::LogTimeAxis;
use crate::console::human;
use crate::recorded::percentiles::Sample;
use crate::recorded::stats::OperationStats;
use crate::shown::spectrum::{Point, nines, points};
use hdrhistogram::Histogram;
use maud::{Markup, html};

const HEIGHT: u32 = 260;
const TABLE: &str = "spectrum-table";

/// The chart and the table with its figures. `hidden` is what there is to say about it.
pub(crate) fn spectrum(stats: &OperationStats, hidden: Option<&str>) -> Markup {
    if stats.response.is_empty() {
        return html! { p { "No slot was due: there are no response times." } };
    }
    let axis = log_axis([&stats.service, &stats.response].into_iter());
    // At least one nine, so that a run of a few requests has a width.
    let most = human::float(stats.response.len()).log10().max(1.0);
    let chart = Chart {
        id: "spectrum",
        name: "Percentiles, uncorrected and corrected",
        about: hidden.unwrap_or("Each label along the bottom has one nine more.").to_owned(),
        height: HEIGHT,
        silent: Vec::new(),
        across: labels(most),
        up: axis.ticks().collect(),
        key: html! {
            (key("line corrected", "response, corrected"))
            @if !stats.service.is_empty() { (key("line uncorrected", "service, uncorrected")) }
            @if stats.responses().at_least() > 0 { (key_at_least()) }
        },
        table: (TABLE, "1 2"),
        body: html! {
            (line("line uncorrected", &path(&stats.service, axis, most)))
            (line("line corrected", &path(&stats.response, axis, most)))
            (line("line corrected upward", &bounds(stats.responses(), axis, most)))
        },
    };
    html! { (chart.figure()) (table(stats, most)) }
}

/// Where p50 is, and each nine.
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
    // The largest of few times is no percentile.
    labels.take_while(|(part, _)| *part < 1.0 + 1e-9).collect()
}

/// From where to where each time is drawn: up to the next quantile. The longest one is drawn at the
/// end of the one before it.
fn spans(times: &Histogram<u64>, most: f64) -> Vec<(f64, f64, Point)> {
    let points = points(times);
    let place = |point: &Point| (nines(point.quantile) / most).min(1.0);
    let next = points.iter().skip(1).map(place).chain([1.0]);
    points.iter().zip(next).map(|(point, next)| (place(point), next, *point)).collect()
}

fn path(times: &Histogram<u64>, axis: LogTimeAxis, most: f64) -> String {
    let levels = spans(times, most).into_iter();
    steps(levels.map(|(from, to, point)| (from, to, Some(axis.part(point.ns)))), HEIGHT)
}

/// Where the line is only a lower bound.
fn bounds(sample: Sample<'_>, axis: LogTimeAxis, most: f64) -> String {
    let spans = spans(sample.times, most).into_iter();
    let bounds = spans.filter(|(_, _, point)| sample.is_at_least(point.quantile));
    upward(bounds.map(|(from, to, point)| ((from, to), axis.part(point.ns))), HEIGHT)
}

fn table(stats: &OperationStats, most: f64) -> Markup {
    html! {
        details {
            summary { "All percentiles" }
            div.wide {
                table id=(TABLE) {
                    thead {
                        tr { th scope="col" { "percentile" } th scope="col" { "service" } th scope="col" { "response" } }
                    }
                    tbody {
                        @for (_, to, point) in spans(&stats.response, most) {
                            tr data-x=(format!("{to:.4}")) {
                                td { (name(point.quantile)) }
                                td { (time(Sample::exact(&stats.service), point.quantile)) }
                                td { (time(stats.responses(), point.quantile)) }
                            }
                        }
                    }
                }
            }
        }
    }
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
