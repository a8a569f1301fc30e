//! What a run amounts to: the numbers behind the report and the JSON object.

use crate::course::Course;
use crate::cpu::Demand;
use crate::gaps::Quality;
use crate::span::Finish;
use crate::tally::{Lateness, Tally};
use crate::verdict::{Evidence, Verdict};
use hdrhistogram::Histogram;
use nanopace::{Ledger, Nanos};
use nanopace_console::human::float;
use std::time::Duration;

/// The results of a run; the warm-up is in the ledger and nowhere else.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The asked-for rate; the mean of it if it was changed.
    pub(crate) target_hz: f64,
    /// Operations started per second.
    pub(crate) achieved_hz: f64,
    /// Slots that fell due.
    pub(crate) due: f64,
    /// Operations started per slot that fell due.
    pub(crate) ratio: f64,
    /// How long the recorded part of the schedule was.
    pub(crate) duration: Duration,
    /// What was recorded.
    pub(crate) times: Tally,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// The pacer's accounts at the end.
    pub(crate) ledger: Ledger,
    /// How long all workers have spun on the clock, warm-up included.
    pub(crate) spun: Duration,
    /// Who kept to the schedule.
    pub(crate) verdict: Verdict,
}

/// What there is when a run is over.
#[derive(Debug)]
pub(crate) struct Results<'run> {
    /// The end of the warm-up.
    pub(crate) recorded_from: Nanos,
    /// How the schedule ended.
    pub(crate) finish: Finish,
    /// The rates that were asked for.
    pub(crate) course: &'run Course,
    /// What was recorded.
    pub(crate) times: &'run Tally,
    /// How even the starts were, if there were enough.
    pub(crate) gaps: Option<Quality>,
    /// The lateness that is in no operation's wait time.
    pub(crate) unrecorded: Lateness,
    /// What the workers wanted of the CPU.
    pub(crate) workers: Vec<Demand>,
}

impl Summary {
    /// Sums up a run that is over.
    pub(crate) fn new(results: &Results<'_>) -> Summary {
        let Results {
            recorded_from: from,
            finish: Finish { at: to, ledger, spun },
            course,
            times,
            ..
        } = *results;
        let due = course.slots(from, to);
        let started = float(times.started());
        let evidence = Evidence {
            ratio: if due > 0.0 { started / due } else { 1.0 },
            wait_p99: p99(&times.wait),
            service_p99: p99(&times.service),
            lateness_in_requests: times.lateness.plus(results.unrecorded).share_in_requests(),
            cpu_share: Demand::share(&results.workers),
        };
        let duration = to - from;
        let seconds = duration.as_secs_f64();
        Summary {
            target_hz: course.mean_hz(from, to),
            achieved_hz: if seconds > 0.0 { started / seconds } else { 0.0 },
            due,
            ratio: evidence.ratio,
            duration,
            times: times.clone(),
            gaps: results.gaps,
            ledger,
            spun,
            verdict: Verdict::new(&evidence),
        }
    }
}

fn p99(times: &Histogram<u64>) -> Duration {
    Duration::from_nanos(times.value_at_quantile(0.99))
}
