//! Tests metrics that are pushed with the OpenTelemetry protocol, to collectors that accept or reject them.

#![cfg(feature = "otlp")]

use crate::command::{nanopace, object};
use crate::running::{file, refusal, side_by_side};
use crate::server::serving;
use crate::tls::{certificate, config};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Text;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, ResourceMetrics};
use prost::Message;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, mpsc};

const CUMULATIVE: i32 = 2;

/// A received request: its head, in lower case, and its body.
type Received = (String, Vec<u8>);

struct Collector {
    address: String,
    received: mpsc::Receiver<Received>,
}

impl Collector {
    fn start(answer: Vec<u8>, tls: Option<Arc<ServerConfig>>) -> Collector {
        let (sender, received) = mpsc::channel();
        let address = serving(move |stream, _| {
            let request = match &tls {
                None => exchange(stream, &answer),
                Some(config) => {
                    let session = ServerConnection::new(Arc::clone(config)).unwrap();
                    exchange(StreamOwned::new(session, stream), &answer)
                }
            };
            // An error means that the test needs no more requests, or that the client has closed the connection.
            let _ = request.map(|request| sender.send(request));
            Ok(())
        });
        Collector { address, received }
    }

    fn messages(&self) -> Vec<ResourceMetrics> {
        let received = self.received.try_iter().map(|(head, body)| {
            assert!(head.contains("\r\ncontent-type: application/x-protobuf\r\n"), "{head}");
            let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
            let [metrics] = <[_; 1]>::try_from(request.resource_metrics).unwrap();
            metrics
        });
        received.collect()
    }
}

fn exchange(stream: impl Read + Write, answer: &[u8]) -> Option<Received> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (stream.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let head = head.to_lowercase();
    let length = head.split_once("content-length: ")?.1.lines().next()?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let stream = stream.get_mut();
    stream.write_all(answer).ok()?;
    stream.flush().ok()?;
    Some((head, body))
}

fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn pushed(url: &str, options: &str, trusted: Option<&str>) -> (Value, String) {
    let mut command = nanopace(&format!("run --rate 200/s --json - --otlp {url} {options}"));
    let output = command.envs(trusted.map(|file| ("SSL_CERT_FILE", file))).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (object(&output), String::from_utf8(output.stderr).unwrap())
}

fn metric<'a>(all: &'a ResourceMetrics, name: &str) -> &'a Metric {
    let named = all.scope_metrics[0].metrics.iter().find(|metric| metric.name == name);
    named.unwrap_or_else(|| panic!("{name}: {all:?}"))
}

fn count(all: &ResourceMetrics, name: &str) -> i64 {
    let Some(Data::Sum(sum)) = &metric(all, name).data else { panic!("{name} is a sum") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == CUMULATIVE, "{sum:?}");
    let value = |point: &NumberDataPoint| match point.value {
        Some(Number::AsInt(value)) => value,
        _ => panic!("{point:?}"),
    };
    sum.data_points.iter().map(value).sum()
}

fn span(all: &ResourceMetrics) -> (u64, u64) {
    let Some(Data::Histogram(times)) = &metric(all, "nanopace.response").data else { panic!() };
    let [point] = &times.data_points[..] else { panic!("{times:?}") };
    assert_eq!((point.bucket_counts.len(), point.explicit_bounds.len()), (23, 22));
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert!(point.explicit_bounds.is_sorted() && point.sum.is_some());
    assert_eq!(times.aggregation_temporality, CUMULATIVE);
    (point.start_time_unix_nano, point.time_unix_nano)
}

#[test]
fn a_collector_gets_all_metrics_again_and_again_and_at_the_end() {
    let collector = Collector::start(answer("200 OK", b""), None);
    let url = format!("http://{}/base/", collector.address);
    let (results, stderr) = pushed(&url, "--otlp-interval 300ms --duration 1s", None);
    assert!(!stderr.contains("--otlp"), "{stderr}");
    let messages = collector.messages();
    assert!(messages.len() >= 2, "{messages:?}");
    let attributes = &messages[0].resource.as_ref().unwrap().attributes;
    let attribute = |name: &str| {
        let value = attributes.iter().find(|it| it.key == name).and_then(|it| it.value.clone());
        let Some(Text::StringValue(text)) = value.unwrap().value else { panic!("{name}") };
        text
    };
    assert_eq!(attribute("service.name"), "nanopace");
    assert_eq!(results["start"], attribute("nanopace.run.start"));
    for pair in messages.windows(2) {
        let [(start, before), (same, after)] = [&pair[0], &pair[1]].map(span);
        assert!(start == same && start < before && before < after, "{start} {before} {after}");
        let [before, after] = [&pair[0], &pair[1]].map(|it| count(it, "nanopace.requests_started"));
        assert!(before <= after);
        assert_eq!(pair[0].resource, pair[1].resource);
    }
    let last = messages.last().unwrap();
    for (name, expected) in [
        ("nanopace.requests_started", "started"),
        ("nanopace.requests_completed", "completed"),
        ("nanopace.requests_failed", "failed"),
        ("nanopace.responses", "completed"),
        ("nanopace.read", "bytes_read"),
    ] {
        assert_eq!(results[expected], count(last, name), "{name}: {results}");
    }
    assert_eq!(
        (&*metric(last, "nanopace.wait").unit, &*metric(last, "nanopace.read").unit),
        ("s", "By")
    );
    let Some(Data::Gauge(phases)) = &metric(last, "nanopace.phase").data else { panic!() };
    let current = phases.data_points.iter().find(|it| it.value == Some(Number::AsDouble(1.0)));
    let phase = current.unwrap().attributes[0].value.clone().unwrap().value;
    assert_eq!(phase, Some(Text::StringValue("over".to_owned())));
}

#[test]
fn a_collector_that_rejects_pushes_causes_one_warning_and_no_failure() {
    let partial = ExportMetricsPartialSuccess {
        rejected_data_points: 3,
        error_message: "no\x1b[31mroom".to_owned(),
    };
    let partial = ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let answers = [
        (answer("503 Service Unavailable", b"later"), "status 503"),
        (answer("302 Found", b""), "status 302"),
        (answer("200 OK", &partial), "3 metric points were rejected: no [31mroom"),
        (b"nonsense\r\n\r\n".to_vec(), "did not accept the metrics"),
        (Vec::new(), "did not accept the metrics"),
    ];
    side_by_side(answers, |(answer, told)| {
        let collector = Collector::start(answer, None);
        let url = format!("http://{}/?key=secret", collector.address);
        let (results, stderr) = pushed(&url, "--otlp-interval 250ms --duration 1s", None);
        assert_eq!(results["failed"], 0);
        let lines: Vec<_> = stderr.lines().filter(|line| line.contains("--otlp")).collect();
        let [first, last] = lines[..] else { panic!("{stderr}") };
        assert!(first.contains(told) && first.ends_with("; trying again every 250ms"), "{stderr}");
        assert!(
            last.contains(" pushes failed; the last error: ") && last.contains(told),
            "{stderr}"
        );
        assert!(!stderr.contains("secret"), "{stderr}");
    });
}

#[test]
fn an_absent_or_silent_collector_does_not_delay_the_end() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for (url, told) in [
        ("http://127.0.0.1:1", "refused"),
        ("http://no-such-host.invalid:4318", "no-such-host.invalid:4318"),
        (&silent, "no response within 5 s"),
    ] {
        let (_, stderr) = pushed(url, "--requests 20", None);
        let last = stderr.lines().find(|line| line.contains("1 of 1 push failed"));
        assert!(last.is_some_and(|last| last.contains(told)), "{stderr}");
    }
}

#[test]
fn a_collector_behind_tls_must_be_trusted() {
    let own = certificate();
    let collector = Collector::start(answer("200 OK", b""), Some(Arc::new(config(&own, None))));
    let url = format!("https://{}", collector.address);
    for (certificate, is_trusted) in [(own.cert.pem(), true), (certificate().cert.pem(), false)] {
        let trusted = file("otlp.pem", certificate);
        let (_, stderr) = pushed(&url, "--requests 20", Some(&trusted));
        assert_eq!(!stderr.contains("1 of 1 push failed"), is_trusted, "{stderr}");
        assert_eq!(collector.messages().len(), usize::from(is_trusted), "{stderr}");
    }
}

#[test]
fn invalid_options_for_a_collector_are_rejected() {
    for (options, told) in [
        (&["--otlp", "127.0.0.1:4318"][..], "http://"),
        (&["--otlp", "grpc://127.0.0.1:4317"], "http://"),
        (&["--otlp", "http://me:secret@127.0.0.1/"], "name and password"),
        (&["--otlp-interval", "1ms"], "at least 250ms"),
        (&["--otlp-interval", "0s"], "--otlp-interval"),
    ] {
        let stderr = refusal(nanopace("run").args(options).output().unwrap());
        assert!(stderr.contains(told), "{stderr}");
    }
}
