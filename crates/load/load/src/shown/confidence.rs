//! Defines how confidence intervals are represented in JSON.

use crate::results::confidence::{Batched, Confidence, Range};
use serde::Serialize;

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names in JSON must not change")]
pub(crate) struct ConfidenceObject {
    wait_time_ns: Ranges,
    service_time_ns: Ranges,
    response_time_ns: Ranges,
}

/// The confidence intervals of percentiles. An interval is null if there are too few times for it, and its upper end is
/// null if it is above all measured times.
#[derive(Debug, Serialize)]
struct Ranges {
    p50: Option<Range>,
    p90: Option<Range>,
    p99: Option<Range>,
    p99_9: Option<Range>,
    p99_99: Option<Range>,
}

impl ConfidenceObject {
    pub(crate) fn new(confidence: &Confidence<'_>) -> ConfidenceObject {
        ConfidenceObject {
            wait_time_ns: Ranges::new(&confidence.wait()),
            service_time_ns: Ranges::new(&confidence.service()),
            response_time_ns: Ranges::new(&confidence.response()),
        }
    }
}

impl Ranges {
    fn new(times: &Batched<'_>) -> Ranges {
        let at = |quantile| times.range(quantile);
        Ranges { p50: at(0.5), p90: at(0.9), p99: at(0.99), p99_9: at(0.999), p99_99: at(0.9999) }
    }
}
