//! Computes how many slots, and how much schedule time, the rates and pauses of a round allow.

use crate::stress::changer::{Change, ChangeTo};
use nanopace::Nanos;

/// One slot, in the unit in which slots are summed: slots per second times nanoseconds. Schedule time is summed in
/// nanoseconds.
pub(crate) const SLOT: u128 = 1_000_000_000;

/// The allowed number of slots, or schedule time, up to any time. While a change is under way, the old or the new rate
/// counts, so the sum is an upper or a lower bound.
pub(crate) struct Allowance {
    /// For each segment: its start, the sum up to its start, and the increase per nanosecond.
    segments: Vec<(u64, u128, u64)>,
}

impl Allowance {
    /// Sums up the changes of a round. `speed` returns the increase per nanosecond in a state. `choose` picks one of
    /// two speeds while a change is under way.
    pub(crate) fn new(
        origin: Nanos,
        start: State,
        changes: &[Change],
        speed: impl Fn(State) -> u64,
        choose: impl Fn(u64, u64) -> u64,
    ) -> Allowance {
        let mut allowance = Allowance { segments: vec![(origin.as_nanos(), 0, speed(start))] };
        let mut state = start;
        for change in changes {
            let next = state.then(change.to);
            allowance.turn(change.before, choose(speed(state), speed(next)));
            allowance.turn(change.after, speed(next));
            state = next;
        }
        allowance
    }

    fn turn(&mut self, moment: Nanos, speed: u64) {
        self.segments.push((moment.as_nanos(), self.until(moment.as_nanos()), speed));
    }

    pub(crate) fn until(&self, moment: u64) -> u128 {
        let segment = self.segments.partition_point(|(from, _, _)| *from <= moment);
        let (from, sum, speed) = self.segments[segment.saturating_sub(1)];
        sum + u128::from(moment.saturating_sub(from)) * u128::from(speed)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct State {
    pub(crate) rate: u64,
    pub(crate) runs: bool,
}

impl State {
    fn then(self, to: ChangeTo) -> State {
        match to {
            ChangeTo::Rate(rate) => State { rate, ..self },
            ChangeTo::Paused => State { runs: false, ..self },
            ChangeTo::Running => State { runs: true, ..self },
        }
    }

    pub(crate) fn speed(self) -> u64 {
        if self.runs { self.rate } else { 0 }
    }
}
