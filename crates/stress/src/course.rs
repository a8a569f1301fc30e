//! How many slots, and how much schedule time, a course of changes allows up to a moment.

use crate::changer::{Change, To};
use nanopace::Nanos;

/// Schedule time and slots are summed up in billionths of a slot: slots per second, times
/// nanoseconds.
pub(crate) const SLOT: u128 = 1_000_000_000;

/// A rate that changes: while a change is under way, the higher one or the lower one of both.
pub(crate) struct Course {
    /// From a moment on, with what had come together until then, so much per nanosecond.
    legs: Vec<(u64, u128, u64)>,
}

impl Course {
    /// From `origin` on, by `speed` of a state; `choose` says which one counts while a change is
    /// under way.
    pub(crate) fn new(
        origin: Nanos,
        start: State,
        changes: &[Change],
        speed: impl Fn(State) -> u64,
        choose: impl Fn(u64, u64) -> u64,
    ) -> Course {
        let mut course = Course { legs: vec![(origin.as_nanos(), 0, speed(start))] };
        let mut state = start;
        for change in changes {
            let next = state.then(change.to);
            course.turn(change.before, choose(speed(state), speed(next)));
            course.turn(change.after, speed(next));
            state = next;
        }
        course
    }

    fn turn(&mut self, moment: Nanos, speed: u64) {
        self.legs.push((moment.as_nanos(), self.until(moment.as_nanos()), speed));
    }

    /// What has come together until `moment`.
    pub(crate) fn until(&self, moment: u64) -> u128 {
        let leg = self.legs.partition_point(|(from, _, _)| *from <= moment);
        let (from, sum, speed) = self.legs[leg.saturating_sub(1)];
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
    fn then(self, to: To) -> State {
        match to {
            To::Rate(rate) => State { rate, ..self },
            To::Paused => State { runs: false, ..self },
            To::Running => State { runs: true, ..self },
        }
    }

    /// Slots per second.
    pub(crate) fn speed(self) -> u64 {
        if self.runs { self.rate } else { 0 }
    }
}
