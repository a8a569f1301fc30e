//! Defines checkpoints: the counts of a run at a point in time. Intervals are differences between two checkpoints.

use super::run_state::RunState;
use crate::results::cpu_time::CpuTime;
use nanopace::Nanos;
use std::time::Duration;

/// The interval between two lines of the logs. Nodes of a fleet use the seconds of the load instead.
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) at: Nanos,
    /// The number of slots requested so far, including fractions of a slot.
    pub(crate) asked: f64,
    pub(crate) skipped: u64,
    pub(crate) idle: Duration,
    pub(crate) processor: Vec<CpuTime>,
}

#[derive(Debug)]
pub(crate) struct Checkpoints {
    pub(crate) last: Checkpoint,
    pub(crate) second: Checkpoint,
    /// The checkpoint that is nearest to the end of the warm-up.
    pub(crate) warm: Checkpoint,
}

impl Checkpoint {
    /// Creates a checkpoint of the current state. `asked` is the number of requested slots in the previous checkpoint.
    /// If a correction of the load has lowered this number, the checkpoint keeps `asked` until the load reaches it
    /// again.
    pub(crate) fn new(state: &RunState<'_>, at: Nanos, asked: f64) -> Checkpoint {
        let ledger = state.pacer().ledger();
        Checkpoint {
            at,
            asked: state.span.asked(at).count.max(asked),
            skipped: ledger.skipped,
            idle: ledger.idle,
            processor: state.shared.threads.times(),
        }
    }
}

impl Checkpoints {
    pub(crate) fn new(state: &RunState<'_>) -> Checkpoints {
        let processor = state.shared.threads.times();
        let (skipped, idle) = (0, Duration::ZERO);
        let start = Checkpoint { at: state.span.start, asked: 0.0, skipped, idle, processor };
        Checkpoints { last: start.clone(), second: start.clone(), warm: start }
    }

    /// Returns whether a second has ended since the last line of the logs. The result is also true exactly at the end
    /// of the warm-up. In a fleet, a second is a second of the load.
    pub(crate) fn is_second_over(&self, state: &RunState<'_>) -> bool {
        let (from, to) = (self.second.at, self.last.at);
        let is_warm = to == state.span.recorded_from;
        let is_over = state
            .member
            .map_or_else(|| to - from >= SECOND, |member| member.second(from) < member.second(to));
        is_over || is_warm
    }

    pub(crate) fn asked_since(&self, before: &Checkpoint, state: &RunState<'_>) -> f64 {
        let recorded = |from: f64| self.last.asked.max(from) - before.asked.max(from);
        state.span.warm_up().map_or(0.0, |warm_up| recorded(warm_up.count))
    }
}
