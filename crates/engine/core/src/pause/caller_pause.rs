//! Defines a single pause of a single caller: when it ends, and what wakes the caller.

use super::pausing::Pausing;
use crate::sleepers::Sleeper;
use crate::timeline::{Attempt, Plan, Timeline};
use crate::{Clock, Nanos, Unparker};

pub(crate) struct CallerPause<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) pausing: &'a Pausing,
    pub(crate) attempt: &'a Attempt,
    pub(crate) plan: &'a Plan,
    /// The time at which the caller ends the pause and keeps its slot.
    pub(crate) limit: i64,
}

impl CallerPause<'_> {
    /// A stretched sleep ends later.
    pub(super) fn until(&self) -> Nanos {
        Nanos::from_signed(self.plan.release.moment().min(self.attempt.deadline).min(self.limit))
    }

    pub(super) fn stretch_ns(&self) -> i64 {
        self.pausing.stretch_ns(self.plan.interval_ns, self.plan.tolerated_ns)
    }

    pub(super) fn goes_on(&self, now: Nanos) -> bool {
        now < self.until() && self.is_current()
    }

    fn is_current(&self) -> bool {
        self.timeline.version() == self.plan.version
    }

    pub(super) fn enter(&self, unparker: Unparker) -> bool {
        let Attempt { deadline, is_fixed, .. } = *self.attempt;
        let release = self.plan.release;
        let sleeper = Sleeper { release, deadline, takes_others: !is_fixed, unparker };
        self.timeline.sleepers.enter(self.plan.position, sleeper, || self.is_current())
    }

    pub(super) fn leave(&self) {
        self.timeline.sleepers.leave(self.plan.position);
    }
}
