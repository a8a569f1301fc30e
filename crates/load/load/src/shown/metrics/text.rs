//! Writes metrics as text for Prometheus, in the format [OpenMetrics] 1.0 or the older [plain] format 0.0.4.
//!
//! [OpenMetrics]: https://prometheus.io/docs/specs/om/open_metrics_spec/
//! [plain]: https://prometheus.io/docs/instrumenting/exposition_formats/

use super::{Data, Family, Point, Unit};
use crate::console::human::float;
use crate::results::tally::{BOUNDS_NS, Buckets};
use std::fmt::Display;
use std::iter::{once, zip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    Plain,
}

impl Format {
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

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

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

pub(crate) fn exposition(families: &[Family<'_>], format: Format) -> String {
    let mut text = head("nanopace_build", "info", "The source of these metrics", None, format);
    let version = ("version", env!("CARGO_PKG_VERSION").to_owned());
    text += &sample("nanopace_build_info", &[version], 1);
    text.extend(families.iter().map(|family| written(family, format)));
    if format == Format::OpenMetrics { text + "# EOF\n" } else { text }
}

fn written(family: &Family<'_>, format: Format) -> String {
    let unit = family.unit.map(|unit| match unit {
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
    });
    let unit_suffix = unit.map_or_else(String::new, |unit| format!("_{unit}"));
    let name = format!("nanopace_{}{unit_suffix}", family.name);
    let (kind, samples): (_, String) = match &family.data {
        Data::Counters(points) => {
            let total = format!("{name}_total");
            ("counter", points.iter().map(|at| sample(&total, labels(at), at.value)).collect())
        }
        Data::Gauges(points) => {
            ("gauge", points.iter().map(|at| sample(&name, labels(at), number(at.value))).collect())
        }
        Data::Times(points) => {
            ("histogram", points.iter().map(|at| histogram(&name, at)).collect())
        }
    };
    head(&name, kind, family.help, unit, format) + &samples
}

/// Returns the lines that describe a metric. The plain format has neither units nor the type `info`, and its counters
/// have the same names as their samples.
fn head(name: &str, kind: &str, help: &str, unit: Option<&str>, format: Format) -> String {
    let (name, kind) = match (format, kind) {
        (Format::Plain, "counter") => (format!("{name}_total"), kind),
        (Format::Plain, "info") => (format!("{name}_info"), "gauge"),
        _ => (name.to_owned(), kind),
    };
    let unit = unit.filter(|_| format == Format::OpenMetrics);
    let unit = unit.map_or_else(String::new, |unit| format!("# UNIT {name} {unit}\n"));
    format!("# HELP {name} {help}.\n# TYPE {name} {kind}\n{unit}")
}

type Label = (&'static str, String);

fn labels<V>(point: &Point<V>) -> &[Label] {
    &point.labels
}

fn sample(name: &str, labels: &[Label], value: impl Display) -> String {
    let escaped = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels: Vec<_> =
        labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{name}{labels} {value}\n")
}

/// Returns the lines of a histogram. The count of a bucket includes all times up to its bound, so it also includes the
/// times in all lower buckets.
fn histogram(name: &str, point: &Point<&Buckets>) -> String {
    let times = point.value;
    let all: u64 = times.counts.iter().sum();
    let sum = sample(&format!("{name}_sum"), labels(point), number(times.sum.as_secs_f64()));
    let count = sample(&format!("{name}_count"), labels(point), all);
    let bounds = BOUNDS_NS.iter().map(|&bound| float(bound) / 1e9).chain(once(f64::INFINITY));
    let mut below = 0;
    let buckets = zip(bounds, times.counts).map(|(bound, count)| {
        below += count;
        let bound = ("le", number(bound));
        let labels: Vec<_> = once(bound).chain(point.labels.clone()).collect();
        sample(&format!("{name}_bucket"), &labels, below)
    });
    [sum, count].into_iter().chain(buckets).collect()
}

fn number(value: f64) -> String {
    if value == f64::INFINITY { "+Inf".to_owned() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::metrics::families;
    use crate::shown::snapshot::ObservedState;
    use std::time::Duration;

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
    fn the_formats_differ_in_heads_and_end() {
        let state = ObservedState::Preparing { is_paused: false };
        let [open, plain] = [Format::OpenMetrics, Format::Plain]
            .map(|format| exposition(&families(&state), format));
        assert!(open.starts_with("# HELP nanopace_build The source of these metrics.\n# TYPE nanopace_build info\nnanopace_build_info{version=\""), "{open}");
        assert!(open.ends_with("nanopace_phase{phase=\"over\"} 0.0\n# EOF\n"), "{open}");
        let info = "# TYPE nanopace_build_info gauge\nnanopace_build_info{version=";
        assert!(
            plain.contains(info) && plain.ends_with("nanopace_phase{phase=\"over\"} 0.0\n"),
            "{plain}"
        );
    }

    #[test]
    fn families_are_written_with_units_labels_and_buckets() {
        let labels = vec![("label", "a\"b\\c\nd".to_owned())];
        let family = |name, unit, data| Family { name, help: "Of it", unit, data };
        let read = Data::Counters(vec![Point { labels, value: 7 }]);
        let read = family("read", Some(Unit::Bytes), read);
        let expected = "# HELP nanopace_read_bytes Of it.\n# TYPE nanopace_read_bytes counter\n\
                        # UNIT nanopace_read_bytes bytes\n\
                        nanopace_read_bytes_total{label=\"a\\\"b\\\\c\\nd\"} 7\n";
        assert_eq!(written(&read, Format::OpenMetrics), expected);
        let expected = "# HELP nanopace_read_bytes_total Of it.\n# TYPE nanopace_read_bytes_total counter\n\
                        nanopace_read_bytes_total{label=\"a\\\"b\\\\c\\nd\"} 7\n";
        assert_eq!(written(&read, Format::Plain), expected);
        let mut times = Buckets { sum: Duration::from_millis(1_500), ..Buckets::default() };
        for bucket in [0, 1, BOUNDS_NS.len()] {
            times.counts[bucket] += 1;
        }
        let times =
            Data::Times(vec![Point { labels: vec![("label", "a".to_owned())], value: &times }]);
        let text = written(&family("wait", Some(Unit::Seconds), times), Format::Plain);
        let lines: Vec<_> = text.lines().skip(2).collect();
        let bound = number(float(BOUNDS_NS[0]) / 1e9);
        assert_eq!(lines[0], "nanopace_wait_seconds_sum{label=\"a\"} 1.5");
        assert_eq!(lines[1], "nanopace_wait_seconds_count{label=\"a\"} 3");
        assert_eq!(
            lines[2],
            format!("nanopace_wait_seconds_bucket{{le=\"{bound}\",label=\"a\"}} 1")
        );
        assert!(lines[3].ends_with(" 2"), "{text}");
        assert_eq!(
            lines[lines.len() - 1],
            "nanopace_wait_seconds_bucket{le=\"+Inf\",label=\"a\"} 3"
        );
    }
}
