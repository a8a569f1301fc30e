//! Defines the state of a run in progress, for live views and metrics.

use super::standing::Standing;
use crate::console::human::{self, float};
use crate::judged::verdict::{Evidence, Verdict};
use crate::load::schedule::args::MAX;
use crate::results::lateness::Lateness;
use crate::results::over_time::{Backlog, Brief, Interval};
use crate::results::tally::Tally;
use crate::results::think_times::HICCUP;
use nanopace::Ledger;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The number of intervals that make up the last second.
pub(crate) const RECENT: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    #[cfg_attr(
        not(feature = "otlp"),
        expect(dead_code, reason = "only pushed metrics contain it")
    )]
    pub(crate) start: SystemTime,
    pub(crate) elapsed: Duration,
    /// The planned end of the run, measured from the start of the schedule.
    pub(crate) planned_end: Option<Duration>,
    pub(crate) phase: Phase,
    /// The requested rate or shape of the whole load, in the grammar of `--rate` and `--shape`.
    pub(crate) load: String,
    pub(crate) is_shape: bool,
    /// Whether all slots of the load have fallen due.
    pub(crate) is_load_over: bool,
    /// The requested rate of this process in slots per second.
    pub(crate) own_hz: f64,
    pub(crate) ledger: Ledger,
    pub(crate) backlog: Backlog,
    pub(crate) recent: Recent,
    pub(crate) tally: Tally,
    /// The lateness by cause. It includes the lateness of slots that are still waiting.
    pub(crate) lateness: Lateness,
    /// A message for the status line, or the text that is being typed.
    pub(crate) note: String,
    pub(crate) fleet: Option<Standing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    WarmUp,
    Running,
    Paused,
    /// The schedule has ended, but not all requests have received a response.
    WaitingForAnswers,
    Over,
}

#[derive(Clone, Debug)]
pub(crate) enum ObservedState {
    /// The schedule has not started. If `is_paused` is set, it will start with a pause.
    Preparing {
        is_paused: bool,
    },
    Started(Arc<Snapshot>),
}

impl ObservedState {
    /// Returns the phase of the run. Returns `None` while a run is being prepared that will not start with a pause.
    pub(crate) fn phase(&self) -> Option<Phase> {
        match self {
            ObservedState::Preparing { is_paused } => is_paused.then_some(Phase::Paused),
            ObservedState::Started(snapshot) => Some(snapshot.phase),
        }
    }

    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            ObservedState::Preparing { .. } => None,
            ObservedState::Started(snapshot) => Some(snapshot),
        }
    }
}

impl Snapshot {
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let Tally { started, wait, service, think_times, .. } = &self.tally;
        let share = |part, all| if all > 0 { float(part) / float(all) } else { 0.0 };
        // The requests of a backlog of at most `HICCUP` do not count as late yet.
        let overdue = if self.backlog.time > HICCUP { self.backlog.slots } else { 0 };
        let evidence = Evidence {
            ratio: share(*started, started.saturating_add(overdue)),
            wait_p99: wait.at_most(0.99),
            service_p99: service.at_most(0.99),
            lateness: self.lateness,
            others: 0.0,
            failed: self.failed_share(),
            failed_by_generator: share(self.tally.failed_by_generator(), *started),
            late: share(think_times.late, think_times.over),
        };
        let verdict = Verdict::new(&evidence).of_closed_loop(self.load == MAX);
        (*started > 0).then_some(verdict)
    }

    pub(crate) fn failed_share(&self) -> f64 {
        float(self.tally.failed()) / float(self.tally.started.max(1))
    }

    /// Returns the requested rate per second as text. For a shape, and after the end of the load, it is the mean
    /// requested rate of the last second.
    pub(crate) fn rate(&self) -> String {
        match self.load.as_str() {
            MAX => MAX.to_owned(),
            _ if self.is_shape || self.is_load_over => human::hz(self.recent.asked_hz),
            _ => human::hz(self.own_hz),
        }
    }
}

/// An interval, and the number of slots that were started in it.
#[derive(Debug)]
pub(crate) struct RecentInterval {
    pub(crate) interval: Interval,
    pub(crate) achieved: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Recent {
    pub(crate) hz: f64,
    pub(crate) asked_hz: f64,
    pub(crate) brief: Brief,
}

impl Recent {
    /// Sums up the last intervals. The requested and the achieved rate are means over the same time. If the intervals
    /// have no length, the requested rate is `asked_hz`.
    pub(crate) fn new(intervals: &VecDeque<RecentInterval>, asked_hz: f64) -> Recent {
        let mut brief = Brief::new();
        for it in intervals {
            brief.add(&it.interval.brief);
        }
        let sum = |of: fn(&RecentInterval) -> f64| intervals.iter().map(of).sum::<f64>();
        let seconds = sum(|it| it.interval.length().as_secs_f64());
        if seconds == 0.0 {
            return Recent { hz: 0.0, asked_hz, brief };
        }
        let hz = |of| sum(of) / seconds;
        Recent { hz: hz(|it| it.achieved), asked_hz: hz(|it| it.interval.asked), brief }
    }
}
