//! The summary of a run: the numbers behind the report and the JSON object.

use super::rate_history::RateHistory;
use super::verdict::{Evidence, Verdict};
use crate::gaps::Quality;
use crate::percentiles;
use crate::run::load::cpu::CpuDemand;
use crate::run::load::span::RunEnd;
use crate::run::recording::lateness::Lateness;
use crate::run::recording::stats::OperationStats;
use nanopace::{Ledger, Nanos};
use nanopace_console::human::float;
use std::time::Duration;

/// The numbers of a run. The warm-up is in the ledger and in the time spun, and nowhere else.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The rate that was asked for; its mean, if it was changed.
    pub(crate) target_hz: f64,
    /// Operations started per second.
    pub(crate) achieved_hz: f64,
    /// Slots that fell due.
    pub(crate) due: f64,
    /// Operations started per slot that fell due.
    pub(crate) ratio: f64,
    /// How long the recorded part of the schedule was.
    pub(crate) duration: Duration,
    /// The operations that were recorded.
    pub(crate) stats: OperationStats,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// The pacer's ledger at the end.
    pub(crate) ledger: Ledger,
    /// How long all workers together have spun on the clock, warm-up included.
    pub(crate) spun: Duration,
    /// Whether the run was on schedule, and what was too slow if not.
    pub(crate) verdict: Verdict,
}

/// What is known when a run is over.
#[derive(Debug)]
pub(crate) struct RunResults<'run> {
    /// The end of the warm-up.
    pub(crate) recorded_from: Nanos,
    /// The end of the schedule.
    pub(crate) run_end: RunEnd,
    /// The rates that were asked for.
    pub(crate) rates: &'run RateHistory,
    /// The operations that were recorded.
    pub(crate) stats: &'run OperationStats,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// The lateness that is in no operation's wait time.
    pub(crate) unrecorded: Lateness,
    /// What the workers needed of the CPU.
    pub(crate) workers: Vec<CpuDemand>,
}

impl Summary {
    /// Sums up a run that is over.
    pub(crate) fn new(results: &RunResults<'_>) -> Summary {
        let RunResults {
            recorded_from: from,
            run_end: RunEnd { at: to, ledger, spun },
            rates,
            stats,
            ..
        } = *results;
        let due = rates.slots(from, to);
        let started = float(stats.started());
        let evidence = Evidence {
            ratio: if due > 0.0 { started / due } else { 1.0 },
            wait_p99: percentiles::at(&stats.wait, 0.99),
            service_p99: percentiles::at(&stats.service, 0.99),
            lateness_in_requests: stats.lateness.plus(results.unrecorded).share_in_requests(),
            cpu_share: CpuDemand::share(&results.workers),
        };
        let duration = to - from;
        let seconds = duration.as_secs_f64();
        Summary {
            target_hz: rates.mean_hz(from, to),
            achieved_hz: if seconds > 0.0 { started / seconds } else { 0.0 },
            due,
            ratio: evidence.ratio,
            duration,
            stats: stats.clone(),
            gaps: results.gaps,
            ledger,
            spun,
            verdict: Verdict::new(&evidence),
        }
    }
}
