//! Defines the options about pushed metrics. Their doc comments are `--help` texts.

use super::collector::Collector;
use crate::console::human::positive_duration;
use crate::net::url;
use clap::Args;
use hyper::Uri;
use std::time::Duration;

/// The options about the collector that metrics are sent to, and about the interval.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub(crate) struct PushArgs {
    /// Send metrics to the OpenTelemetry collector at this URL (OTLP over HTTP, /v1/metrics)
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) otlp: Option<Uri>,

    /// Send metrics at this interval, and at the end of the run
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval, requires = "otlp")]
    pub(crate) otlp_interval: Duration,
}

/// The shortest interval that is accepted. The figures are not updated more often.
const SHORTEST: Duration = Duration::from_millis(250);

const PATH: &str = "/v1/metrics";

impl PushArgs {
    pub(crate) fn collector(&self) -> anyhow::Result<Option<Collector>> {
        self.otlp.clone().map(Collector::new).transpose()
    }
}

fn url(text: &str) -> Result<Uri, String> {
    let url = url::read(text)?;
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("leave name and password out of the URL".to_owned());
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix(PATH).unwrap_or(path);
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = url.clone().into_parts();
    let path = format!("{path}{PATH}{query}").parse();
    parts.path_and_query = Some(path.map_err(|error| format!("{text:?}: {error}"))?);
    Uri::from_parts(parts).map_err(|error| format!("{text:?}: {error}"))
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = positive_duration(text)?;
    if interval < SHORTEST {
        return Err("an interval is at least 250ms".to_owned());
    }
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_protocol_follows_the_base() {
        for (given, expected) in [
            ("http://collector:4318", "http://collector:4318/v1/metrics"),
            ("http://collector:4318/", "http://collector:4318/v1/metrics"),
            ("https://collector/otlp/", "https://collector/otlp/v1/metrics"),
            ("https://collector/otlp/v1/metrics", "https://collector/otlp/v1/metrics"),
            ("https://collector/v1/metrics/", "https://collector/v1/metrics"),
            ("http://collector?key=1", "http://collector/v1/metrics?key=1"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
        ] {
            assert_eq!(url(given).unwrap().to_string(), expected);
        }
        for wrong in ["", "collector:4318", "grpc://collector", "http://", "http://a:b@collector"] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }
}
