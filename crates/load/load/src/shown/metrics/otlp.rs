//! Encodes metrics as messages of the OpenTelemetry protocol (OTLP).

use super::{Data, Family, Point, Unit};
use crate::console::human::float;
use crate::results::tally::{BOUNDS_NS, Buckets};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use std::process;
use std::time::SystemTime;

#[derive(Debug)]
pub(crate) struct Source {
    /// The start of counting, in nanoseconds since 1970.
    start: u64,
    resource: Resource,
}

/// The time span of a value, in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    now: u64,
}

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

impl Source {
    pub(crate) fn new(start: SystemTime) -> Source {
        let nanos = nanos(start);
        let attributes = [
            ("service.name", "nanopace".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            // Two runs at the same time need different instance IDs.
            ("service.instance.id", format!("{}-{nanos:x}", process::id())),
            ("nanopace.run.start", humantime::format_rfc3339_millis(start).to_string()),
        ];
        let attributes = attributes.map(|(key, value)| text(key, value)).into();
        Source { start: nanos, resource: Resource { attributes, ..Resource::default() } }
    }

    pub(crate) fn message(&self, families: &[Family<'_>], now: SystemTime) -> Vec<u8> {
        // The end of the span must not be before its start, even if the clock was set back.
        let span = Span { start: self.start, now: nanos(now).max(self.start) };
        let metrics = families.iter().map(|family| metric(family, span)).collect();
        let scope = InstrumentationScope {
            name: "nanopace".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope = ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() };
        let all = ResourceMetrics {
            resource: Some(self.resource.clone()),
            scope_metrics: vec![scope],
            schema_url: String::new(),
        };
        ExportMetricsServiceRequest { resource_metrics: vec![all] }.encode_to_vec()
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn text(key: &str, value: String) -> KeyValue {
    let value = Some(AnyValue { value: Some(Value::StringValue(value)) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

fn metric(family: &Family<'_>, span: Span) -> Metric {
    // The units are chosen so that a collector that converts to Prometheus' format produces the names of the text
    // format.
    let unit = match family.unit {
        Some(Unit::Seconds) => "s",
        Some(Unit::Bytes) => "By",
        None => "",
    };
    let data = match &family.data {
        Data::Counters(points) => metric::Data::Sum(Sum {
            data_points: points.iter().map(|point| counter(point, span)).collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Data::Gauges(points) => metric::Data::Gauge(Gauge {
            data_points: points.iter().map(|point| gauge(point, span)).collect(),
        }),
        Data::Times(points) => metric::Data::Histogram(Histogram {
            data_points: points.iter().map(|point| histogram(point, span)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    Metric {
        name: format!("nanopace.{}", family.name),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn counter(point: &Point<u64>, span: Span) -> NumberDataPoint {
    number(point, Number::AsInt(i64::try_from(point.value).unwrap_or(i64::MAX)), span)
}

/// Encodes a value of a gauge, which has no start time.
fn gauge(point: &Point<f64>, span: Span) -> NumberDataPoint {
    number(point, Number::AsDouble(point.value), Span { start: 0, ..span })
}

fn number<V>(point: &Point<V>, value: Number, span: Span) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: span.start,
        time_unix_nano: span.now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn attributes<V>(point: &Point<V>) -> Vec<KeyValue> {
    point.labels.iter().map(|(key, value)| text(key, value.clone())).collect()
}

fn histogram(point: &Point<&Buckets>, span: Span) -> HistogramDataPoint {
    let times = point.value;
    HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: span.start,
        time_unix_nano: span.now,
        count: times.counts.iter().sum(),
        sum: Some(times.sum.as_secs_f64()),
        bucket_counts: times.counts.to_vec(),
        explicit_bounds: BOUNDS_NS.iter().map(|&bound| float(bound) / 1e9).collect(),
        ..HistogramDataPoint::default()
    }
}
