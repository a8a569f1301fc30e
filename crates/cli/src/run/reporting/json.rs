//! The results of a run as one JSON object.

use super::summary::Summary;
use super::verdict::Verdict;
use crate::percentiles::Percentiles;
use serde::Serialize;
use std::time::Duration;

/// The object. Its names are a promise to the programs that read it.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    target_rate: f64,
    achieved_rate: f64,
    started: u64,
    completed: u64,
    failed: u64,
    skipped: u64,
    duration_seconds: f64,
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
    gaps: Gaps,
    ledger: Ledger,
    spun_ns: u64,
    verdict: Verdict,
}

/// Both null when there were too few starts to judge.
#[derive(Debug, Serialize)]
struct Gaps {
    within_25_percent: Option<f64>,
    coefficient_of_variation: Option<f64>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are a promise")]
struct Ledger {
    elapsed_ns: u64,
    allocated_ns: u64,
    idle_ns: u64,
    waiting_ns: u64,
    backlog_ns: u64,
}

impl Object {
    /// The object for a summary.
    pub(crate) fn new(summary: &Summary) -> Object {
        let stats = &summary.stats;
        Object {
            target_rate: summary.target_hz,
            achieved_rate: summary.achieved_hz,
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            skipped: summary.ledger.skipped,
            duration_seconds: summary.duration.as_secs_f64(),
            wait_time_ns: Percentiles::new(&stats.wait),
            service_time_ns: Percentiles::new(&stats.service),
            response_time_ns: Percentiles::new(&stats.response),
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

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
