//! Computes how many slots, and how much schedule time, the rates and pauses of a round allow.

use crate::stress::changer::{Change, ChangeTo};
use nanopace::Nanos;

/// A slot in the unit of all sums here: slots per second times nanoseconds.
pub(crate) const SLOT: u128 = 1_000_000_000;

/// How much a changing rate allows up to a moment. While a change is under way, it is not known
/// whether the old or the new rate counts, so this is an upper or a lower bound.
pub(crate) struct Allowance {
    /// Each segment's start, the sum up to there, and what is added per nanosecond.
    segments: Vec<(u64, u128, u64)>,
}

impl Allowance {
    /// The allowance from `origin` on. `speed` is what a state adds per nanosecond; `choose` picks
    /// one of two speeds while a change is under way.
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

    /// The sum up to `moment`.
    pub(crate) fn until(&self, moment: u64) -> u128 {
        let segment = self.segments.partition_point(|(from, _, _)| *from <= moment);
        let (from, sum, speed) = self.segments[segment.saturating_sub(1)];
        sum + u128::from(moment.saturating_sub(from)) * u128::from(speed)
    }
}

/// The rate, and whether the pacer is paused.
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

    /// Slots per second.
    pub(crate) fn speed(self) -> u64 {
        if self.runs { self.rate } else { 0 }
    }
}
