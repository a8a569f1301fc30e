//! Writes metrics as text for Prometheus, in the format [OpenMetrics] 1.0 or the older [plain] format 0.0.4.
//!
//! [OpenMetrics]: https://prometheus.io/docs/specs/om/open_metrics_spec/
//! [plain]: https://prometheus.io/docs/instrumenting/exposition_formats/

use super::{Data, Family, Point, Unit, families};
use crate::console::human::float;
use crate::recorded::tally::{BOUNDS_NS, Buckets};
use crate::shown::snapshot::Snapshot;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as UnitName};
use std::fmt;
use std::iter::{once, zip};
use std::sync::Arc;
use tokio::sync::watch;

/// The two text formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    Plain,
}

impl Format {
    /// Returns the format that the `Accept` header of a request prefers.
    pub(crate) fn preferred(accept: &str) -> Format {
        let best = |medias: &[&str]| {
            let ranges = accept.split(',').map(Range::new);
            let ours = ranges.filter(|it| it.version_is_ours && medias.contains(&&*it.media));
            ours.map(|range| range.q).fold(0.0, f64::max)
        };
        let open = best(&["application/openmetrics-text"]);
        let plain = best(&["text/plain", "text/*", "*/*"]);
        if open > 0.0 && open >= plain { Format::OpenMetrics } else { Format::Plain }
    }

    /// The value of the `Content-Type` header.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// A media range in the `Accept` header.
struct Range {
    media: String,
    version_is_ours: bool,
    q: f64,
}

impl Range {
    fn new(text: &str) -> Range {
        let mut words = text.split(';').map(|word| word.trim().to_ascii_lowercase());
        let mut range =
            Range { media: words.next().unwrap_or_default(), version_is_ours: true, q: 1.0 };
        for word in words {
            match word.split_once('=') {
                Some(("q", q)) => range.q = q.parse().unwrap_or(0.0),
                Some(("version", version)) => {
                    range.version_is_ours = matches!(version, "0.0.1" | "0.0.4" | "1.0.0");
                }
                _ => {}
            }
        }
        range
    }
}

/// Writes the metrics of a run at the moment of the request.
#[derive(Debug)]
pub(crate) struct Exposition(Registry);

impl Exposition {
    /// Creates the metrics of the run that sends these snapshots.
    pub(crate) fn new(snapshots: watch::Receiver<Option<Arc<Snapshot>>>) -> Exposition {
        let mut registry = Registry::with_prefix("nanopace");
        registry.register_collector(Box::new(Scrape(snapshots)));
        Exposition(registry)
    }

    /// Returns the text of all metrics.
    pub(crate) fn text(&self, format: Format) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(if format == Format::Plain { plain(&text) } else { text })
    }
}

#[derive(Debug)]
struct Scrape(watch::Receiver<Option<Arc<Snapshot>>>);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // The snapshot is cloned, so that the run does not wait until everything is written.
        let snapshot = self.0.borrow().clone();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        encoder
            .encode_descriptor("build", "The program that tells this", None, MetricType::Info)?
            .encode_info(&version)?;
        families(snapshot.as_deref()).iter().try_for_each(|family| write(family, &mut encoder))
    }
}

fn write(family: &Family<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let unit = family.unit.map(|unit| match unit {
        Unit::Seconds => UnitName::Seconds,
        Unit::Bytes => UnitName::Bytes,
    });
    let kind = match &family.data {
        Data::Counters(_) => MetricType::Counter,
        Data::Gauges(_) => MetricType::Gauge,
        Data::Times(_) => MetricType::Histogram,
    };
    let mut encoder = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
    match &family.data {
        Data::Counters(points) => points.iter().try_for_each(|point| counter(point, &mut encoder)),
        Data::Gauges(points) => points.iter().try_for_each(|point| gauge(point, &mut encoder)),
        Data::Times(points) => points.iter().try_for_each(|point| histogram(point, &mut encoder)),
    }
}

fn counter(
    Point { label, value }: &Point<impl EncodeCounterValue>,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    match label {
        None => encoder.encode_counter::<NoLabelSet, _, u64>(value, None),
        Some((name, label)) => encoder
            .encode_family(&[(*name, label.as_str())])?
            .encode_counter::<NoLabelSet, _, u64>(value, None),
    }
}

fn gauge(
    Point { label, value }: &Point<impl EncodeGaugeValue>,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    match label {
        None => encoder.encode_gauge(value),
        Some((name, label)) => {
            encoder.encode_family(&[(*name, label.as_str())])?.encode_gauge(value)
        }
    }
}

fn histogram(
    Point { label, value: times }: &Point<&Buckets>,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    let bounds = BOUNDS_NS.iter().map(|&bound| float(bound) / 1e9).chain(once(f64::INFINITY));
    let buckets: Vec<_> = zip(bounds, times.counts).collect();
    let count = times.counts.iter().sum();
    let sum = times.sum.as_secs_f64();
    match label {
        None => encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None),
        Some((name, label)) => encoder
            .encode_family(&[(*name, label.as_str())])?
            .encode_histogram::<NoLabelSet>(sum, count, &buckets, None),
    }
}

/// Converts the text to the plain format: without units, info metrics and end mark, and with counters named like their
/// samples.
fn plain(text: &str) -> String {
    let mut help = "";
    let lines = text.lines().filter_map(|line| {
        let mut words = line.splitn(4, ' ');
        match [words.next(), words.next(), words.next(), words.next()] {
            [Some("#"), Some("HELP"), _, text] => {
                help = text.unwrap_or_default();
                None
            }
            [Some("#"), Some("TYPE"), Some(name), Some(kind)] => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    _ => ("", kind),
                };
                Some(format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"))
            }
            [Some("#"), ..] => None,
            _ => Some(format!("{line}\n")),
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_the_format_that_it_prefers() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,\
                          text/plain;version=0.0.4;q=0.4,*/*;q=0.3";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; Version=1.0.0, text/plain", Format::OpenMetrics),
            ("", Format::Plain),
            ("*/*", Format::Plain),
            ("text/plain;version=0.0.4;q=1,application/openmetrics-text;q=0.5", Format::Plain),
            ("application/openmetrics-text;q=0", Format::Plain),
            ("application/openmetrics-text;q=nonsense", Format::Plain),
            ("application/openmetrics-text;version=7.0.0", Format::Plain),
            ("application/vnd.google.protobuf;q=1,text/html", Format::Plain),
            (",;=,;q=;;", Format::Plain),
        ] {
            assert_eq!(Format::preferred(accept), format, "{accept:?}");
        }
    }

    #[test]
    fn the_plain_format_names_counters_as_their_samples() {
        let open = "# HELP a Of a.\n# TYPE a counter\na_total 1\n# HELP b_seconds B\n\
                    # TYPE b_seconds gauge\n# UNIT b_seconds seconds\nb_seconds{x=\"# HELP\"} 2\n\
                    # HELP c C\n# TYPE c info\nc_info{v=\"1\"} 1\n# EOF\n";
        let expected = "# HELP a_total Of a.\n# TYPE a_total counter\na_total 1\n\
                        # HELP b_seconds B\n# TYPE b_seconds gauge\nb_seconds{x=\"# HELP\"} 2\n\
                        # HELP c_info C\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n";
        assert_eq!(plain(open), expected);
    }
}
