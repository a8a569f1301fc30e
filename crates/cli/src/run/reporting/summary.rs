//! The summary of a run: the numbers behind the report and the JSON object.

use super::machine::Machine;
use super::verdict::{Evidence, Verdict};
use crate::gaps::Quality;
use crate::percentiles;
use crate::run::asked::AskedLoad;
use crate::run::client::endpoint::Endpoint;
use crate::run::criteria::{Criterion, Figures};
use crate::run::load::processor::ProcessorTime;
use crate::run::load::span::RunEnd;
use crate::run::recording::over_time::OverTime;
use crate::run::recording::stats::OperationStats;
use nanopace::{Ledger, Nanos};
use nanopace_console::human::float;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use toml::Table;

/// The numbers of a run. The warm-up is in the ledger and in the time spun, and nowhere else.
#[derive(Debug)]
pub(crate) struct Summary {
    /// What was run, where, and when it began.
    pub(crate) title: Title,
    /// The rate that was asked for; its mean, if it was changed.
    pub(crate) target_hz: f64,
    /// Operations started per second.
    pub(crate) achieved_hz: f64,
    /// Operations started as a share of those that were asked for; at most 1.
    pub(crate) ratio: f64,
    /// Operations failed per operation started.
    pub(crate) failed_share: f64,
    /// How long the recorded part of the schedule was.
    pub(crate) duration: Duration,
    /// What was asked for and what happened, interval by interval.
    pub(crate) over_time: OverTime,
    /// The operations that were recorded.
    pub(crate) stats: OperationStats,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// The pacer's ledger at the end.
    pub(crate) ledger: Ledger,
    /// What the load threads had of the processor, where the system says it.
    pub(crate) processor: Option<ProcessorTime>,
    /// How long it took to resolve all names.
    pub(crate) resolved_in: Duration,
    /// Whether the run was on schedule, and what was too slow if not.
    pub(crate) verdict: Verdict,
    /// What was required of the run and does not hold.
    pub(crate) missed: Vec<String>,
}

/// What tells a run from others.
#[derive(Clone, Debug)]
pub(crate) struct Title {
    /// Where requests went.
    pub(crate) url: String,
    /// When the schedule started.
    pub(crate) start: SystemTime,
    /// All options by name, as they are written.
    pub(crate) settings: Table,
    /// The names of those that were given.
    pub(crate) given: BTreeSet<String>,
    /// What it ran on.
    pub(crate) machine: Machine,
}

/// What is known when a run is over.
#[derive(Debug)]
pub(crate) struct RunResults<'run> {
    /// What was run.
    pub(crate) title: Title,
    /// The end of the warm-up.
    pub(crate) recorded_from: Nanos,
    /// The end of the schedule.
    pub(crate) run_end: RunEnd,
    /// The load that was asked for.
    pub(crate) asked: &'run AskedLoad,
    /// What was asked for and what happened, interval by interval.
    pub(crate) over_time: OverTime,
    /// The operations that were recorded.
    pub(crate) stats: &'run OperationStats,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// What the load threads had of the processor.
    pub(crate) processor: Option<ProcessorTime>,
    /// The servers.
    pub(crate) endpoints: &'run [Endpoint],
}

impl Summary {
    /// Sums up a run that is over.
    pub(crate) fn new(results: RunResults<'_>) -> Summary {
        let RunResults { recorded_from: from, run_end, asked, stats, .. } = results;
        let (started, duration) = (float(stats.started()), run_end.at - from);
        let target_hz = asked.mean_hz(from, run_end.at);
        let achieved_hz = share(started, duration.as_secs_f64(), 0.0);
        // More than was due, if policies gave up time; less, if a part of an interval is left.
        let required = asked.required(from, run_end.asked_until).max(float(stats.due()));
        let evidence = Evidence {
            ratio: ratio(started, required),
            wait_p99: percentiles::at(&stats.wait, 0.99),
            service_p99: percentiles::at(&stats.service, 0.99),
            lateness: stats.lateness,
            failed: share(float(stats.failed()), started, 0.0),
            processor: results.processor.map_or(1.0, |time| given(time, duration, stats.due())),
        };
        Summary {
            title: results.title,
            target_hz,
            achieved_hz,
            ratio: evidence.ratio,
            failed_share: evidence.failed,
            duration,
            over_time: results.over_time,
            stats: stats.clone(),
            gaps: results.gaps,
            ledger: run_end.ledger,
            processor: results.processor,
            resolved_in: results.endpoints.iter().map(|endpoint| endpoint.resolved_in).sum(),
            verdict: Verdict::new(&evidence),
            missed: Vec::new(),
        }
    }

    /// Notes which of the criteria are missed. If none is about errors, few of them are allowed.
    pub(crate) fn require(&mut self, criteria: &[Criterion]) {
        let default = Criterion::default_errors();
        let is_named = self.stats.started() == 0 || criteria.iter().any(Criterion::names_errors);
        let all = criteria.iter().chain((!is_named).then_some(&default));
        let figures = self.figures();
        let missed = all.filter_map(|criterion| criterion.check(&figures));
        self.missed = missed.map(|missed| missed.to_string()).collect();
    }

    /// What criteria are about.
    pub(crate) fn figures(&self) -> Figures<'_> {
        let stats = &self.stats;
        Figures {
            wait: &stats.wait,
            service: &stats.service,
            response: stats.responses(),
            setup: &stats.set_ups.all,
            due: stats.due(),
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            skipped: stats.skipped,
            unfinished: stats.unfinished,
            unstarted: stats.unstarted,
            ratio: self.ratio,
            achieved_hz: self.achieved_hz,
            gaps_within_25_percent: self.gaps.map(|gaps| gaps.within_25_percent),
            target_lateness: Duration::from_secs_f64(stats.lateness.target),
            generator_lateness: Duration::from_secs_f64(stats.lateness.generator),
        }
    }
}

/// Starts as a share of those that were required; 1 if none was.
fn ratio(started: f64, required: f64) -> f64 {
    share(started, required, 1.0).min(1.0)
}

/// What threads had of the processor time that they wanted; all of it, if they wanted little, or no
/// slot was due for which they could need it.
fn given(time: ProcessorTime, duration: Duration, due: u64) -> f64 {
    if due == 0 || time.wanted < duration / 10 {
        return 1.0;
    }
    share(time.had.as_secs_f64(), time.wanted.as_secs_f64(), 1.0)
}

/// `part` of `whole`; `otherwise` if there is nothing to have a part of.
fn share(part: f64, whole: f64, otherwise: f64) -> f64 {
    if whole > 0.0 { part / whole } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_needed_little_had_it() {
        let second = Duration::from_secs(1);
        let starved = ProcessorTime { had: second / 8, wanted: second / 2 };
        let little = ProcessorTime { had: Duration::ZERO, wanted: second / 20 };
        for (time, due, part) in [(starved, 1, 0.25), (starved, 0, 1.0), (little, 1, 1.0)] {
            let given = given(time, second, due);
            assert!((given - part).abs() < 1e-12, "{given}, not {part}");
        }
    }
}
