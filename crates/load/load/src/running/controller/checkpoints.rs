//! Checkpoints of a run: the counts at a moment, from which intervals between two moments are computed.

use super::run_state::RunState;
use crate::recorded::cpu_time::CpuTime;
use nanopace::Nanos;
use std::time::Duration;

/// How long a second is, on a run that is no node of a fleet.
const SECOND: Duration = Duration::from_secs(1);

/// The state of a run at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) at: Nanos,
    /// How many slots had been requested, parts of slots included.
    pub(crate) asked: f64,
    pub(crate) skipped: u64,
    pub(crate) idle: Duration,
    /// The CPU time of each load thread.
    pub(crate) processor: Vec<CpuTime>,
}

/// The checkpoints that later ones are compared with.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    pub(crate) last: Checkpoint,
    /// Where the last second began.
    pub(crate) second: Checkpoint,
    /// At the end of the warm-up.
    pub(crate) warm: Checkpoint,
}

impl Checkpoint {
    /// The checkpoint of this moment, which is the end of the run or now. A load that is corrected to less than `asked`
    /// has not come so far again.
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
    /// The checkpoints of a schedule that has just started.
    pub(crate) fn new(state: &RunState<'_>) -> Checkpoints {
        let processor = state.shared.threads.times();
        let (skipped, idle) = (0, Duration::ZERO);
        let start = Checkpoint { at: state.span.start, asked: 0.0, skipped, idle, processor };
        Checkpoints { last: start.clone(), second: start.clone(), warm: start }
    }

    /// Whether a second has passed; in a fleet, whether the load is in another one.
    pub(crate) fn is_second_over(&self, state: &RunState<'_>) -> bool {
        let (from, to) = (self.second.at, self.last.at);
        let is_warm = to == state.span.recorded_from;
        let is_over = state
            .member
            .map_or_else(|| to - from >= SECOND, |member| member.second(from) < member.second(to));
        is_over || is_warm
    }

    /// How many recorded slots were requested between an earlier checkpoint and the last one.
    pub(crate) fn asked_since(&self, before: &Checkpoint, state: &RunState<'_>) -> f64 {
        let recorded = |from: f64| self.last.asked.max(from) - before.asked.max(from);
        state.span.warm_up().map_or(0.0, |warm_up| recorded(warm_up.count))
    }
}
