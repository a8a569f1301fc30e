//! How a run is going: one picture for the live views and for programs that ask.

use super::standing::Standing;
use crate::console::human;
use crate::recorded::lateness::Lateness;
use crate::recorded::over_time::{Backlog, Brief, Interval};
use crate::recorded::tally::Tally;
use nanopace::Ledger;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

/// The last intervals make up a second.
pub(crate) const RECENT: usize = 4;

/// How a run is going.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// When the schedule started.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "pushed metrics have it"))]
    pub(crate) start: SystemTime,
    /// Time since then.
    pub(crate) elapsed: Duration,
    /// When the schedule is to end, since its start; none if nobody knows.
    pub(crate) planned_end: Option<Duration>,
    pub(crate) phase: Phase,
    /// The rate or the shape that is asked for, as it is written.
    pub(crate) load: String,
    /// Whether that is a shape.
    pub(crate) is_shape: bool,
    /// Whether all requests of the load have come, so that no more are asked for.
    pub(crate) is_load_over: bool,
    /// The pacer's ledger.
    pub(crate) ledger: Ledger,
    /// What is due and has not started.
    pub(crate) backlog: Backlog,
    /// What the last second was like.
    pub(crate) recent: Recent,
    /// What has happened since the end of the warm-up.
    pub(crate) tally: Tally,
    /// What lateness was spent on, that of slots that wait now too.
    pub(crate) lateness: Lateness,
    /// What is being typed, or what was wrong with it.
    pub(crate) note: String,
    /// How it is in its fleet, if there is one.
    pub(crate) fleet: Option<Standing>,
}

/// What the run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Requests start, and nothing is recorded.
    WarmUp,
    Running,
    Paused,
    /// The schedule has ended, and answers are missing.
    WaitingForAnswers,
    Over,
}

impl Snapshot {
    /// The rate that is asked for; of a shape and of a load that is over, the mean in the last second.
    pub(crate) fn rate(&self) -> String {
        if self.is_shape || self.is_load_over {
            human::hz(self.recent.asked_hz)
        } else {
            self.load.clone()
        }
    }
}

/// What happened in the last second.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    /// Operations started per second.
    pub(crate) hz: f64,
    /// Slots asked for per second.
    pub(crate) asked_hz: f64,
    pub(crate) brief: Brief,
}

impl Recent {
    /// The sum of these intervals, which were asked for `asked_hz` slots per second.
    pub(crate) fn new(intervals: &VecDeque<Interval>, asked_hz: f64) -> Recent {
        let mut brief = Brief::new();
        for interval in intervals {
            brief.add(&interval.brief);
        }
        let seconds = intervals.iter().map(Interval::length).sum::<Duration>().as_secs_f64();
        let started = human::float(brief.started());
        Recent { hz: if seconds > 0.0 { started / seconds } else { 0.0 }, asked_hz, brief }
    }
}
