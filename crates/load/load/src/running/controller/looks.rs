//! The looks at a run that are remembered: what has happened is what is between two of them.

use super::course::Course;
use crate::recorded::processor::ProcessorTime;
use nanopace::Nanos;
use std::time::Duration;

/// How long a second is, on a run that is no node of a fleet.
const SECOND: Duration = Duration::from_secs(1);

/// Where things stood at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) at: Nanos,
    /// How many slots had been asked for, parts of them included.
    pub(crate) asked: f64,
    pub(crate) skipped: u64,
    pub(crate) idle: Duration,
    /// The processor time of each load thread.
    pub(crate) processor: Vec<ProcessorTime>,
}

/// The looks that later ones are compared with.
#[derive(Debug)]
pub(crate) struct Looks {
    pub(crate) last: Look,
    /// Where the last second began.
    pub(crate) second: Look,
    /// At the end of the warm-up.
    pub(crate) warm: Look,
}

impl Look {
    /// A look at this moment, which is the end of the run or now. A load that is corrected to less than `asked`
    /// has not come so far again.
    pub(crate) fn new(course: &Course<'_>, at: Nanos, asked: f64) -> Look {
        let ledger = course.pacer().ledger();
        Look {
            at,
            asked: course.span.asked(at).count.max(asked),
            skipped: ledger.skipped,
            idle: ledger.idle,
            processor: course.shared.threads.times(),
        }
    }
}

impl Looks {
    /// The looks at a schedule that has just started.
    pub(crate) fn new(course: &Course<'_>) -> Looks {
        let processor = course.shared.threads.times();
        let (skipped, idle) = (0, Duration::ZERO);
        let start = Look { at: course.span.start, asked: 0.0, skipped, idle, processor };
        Looks { last: start.clone(), second: start.clone(), warm: start }
    }

    /// Whether a second has passed; in a fleet, whether the load is in another one.
    pub(crate) fn is_second_over(&self, course: &Course<'_>) -> bool {
        let (from, to) = (self.second.at, self.last.at);
        let is_warm = to == course.span.recorded_from;
        let is_over = course
            .member
            .map_or_else(|| to - from >= SECOND, |member| member.second(from) < member.second(to));
        is_over || is_warm
    }

    /// How many recorded slots were asked for between an earlier look and the last one.
    pub(crate) fn asked_since(&self, before: &Look, course: &Course<'_>) -> f64 {
        let recorded = |from: f64| self.last.asked.max(from) - before.asked.max(from);
        course.span.warm_up().map_or(0.0, |warm_up| recorded(warm_up.count))
    }
}
