//! The results as one JSON object.

use crate::summary::Summary;
use crate::verdict::Verdict;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// The results of a run. The names in here are promised to the readers of the file.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    target_rate: f64,
    achieved_rate: f64,
    started: u64,
    completed: u64,
    failed: u64,
    skipped: u64,
    duration_seconds: f64,
    wait_time_ns: Times,
    service_time_ns: Times,
    response_time_ns: Times,
    gaps: Gaps,
    ledger: Ledger,
    spun_ns: u64,
    verdict: Verdict,
}

/// A distribution in nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    count: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    p99_99: u64,
    max: u64,
}

/// Both null when there were too few starts to judge.
#[derive(Debug, Serialize)]
struct Gaps {
    within_25_percent: Option<f64>,
    coefficient_of_variation: Option<f64>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are promised")]
struct Ledger {
    elapsed_ns: u64,
    allocated_ns: u64,
    idle_ns: u64,
    waiting_ns: u64,
    backlog_ns: u64,
}

impl Object {
    /// What of a run is written.
    pub(crate) fn new(summary: &Summary) -> Object {
        let times = &summary.times;
        Object {
            target_rate: summary.target_hz,
            achieved_rate: summary.achieved_hz,
            started: times.started(),
            completed: times.completed(),
            failed: times.failed(),
            skipped: summary.ledger.skipped,
            duration_seconds: summary.duration.as_secs_f64(),
            wait_time_ns: Times::new(&times.wait),
            service_time_ns: Times::new(&times.service),
            response_time_ns: Times::new(&times.response),
            gaps: Gaps {
                within_25_percent: summary.gaps.map(|gaps| gaps.within_25_percent),
                coefficient_of_variation: summary.gaps.map(|gaps| gaps.coefficient_of_variation),
            },
            ledger: Ledger::new(&summary.ledger),
            spun_ns: nanos(summary.spun),
            verdict: summary.verdict,
        }
    }
}

impl Times {
    /// The percentiles that are written.
    pub(crate) fn new(times: &Histogram<u64>) -> Times {
        Times {
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

impl Ledger {
    fn new(ledger: &nanopace::Ledger) -> Ledger {
        Ledger {
            elapsed_ns: nanos(ledger.elapsed),
            allocated_ns: nanos(ledger.allocated),
            idle_ns: nanos(ledger.idle),
            waiting_ns: nanos(ledger.waiting),
            backlog_ns: nanos(ledger.backlog),
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
