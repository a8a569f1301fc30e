//! Distributions of times, as percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// The time that the share `quantile` of all values does not exceed.
pub(crate) fn at(times: &Histogram<u64>, quantile: f64) -> Duration {
    Duration::from_nanos(times.value_at_quantile(quantile))
}

/// A distribution in nanoseconds, as it is written to JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Percentiles {
    count: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    p99_99: u64,
    max: u64,
}

impl Percentiles {
    /// The percentiles of a histogram of nanoseconds.
    pub(crate) fn new(times: &Histogram<u64>) -> Percentiles {
        Percentiles {
            count: times.len(),
            mean: times.mean(),
            p50: times.value_at_quantile(0.5),
            p90: times.value_at_quantile(0.9),
            p99: times.value_at_quantile(0.99),
            p99_9: times.value_at_quantile(0.999),
            p99_99: times.value_at_quantile(0.9999),
            max: times.max(),
        }
    }
}
