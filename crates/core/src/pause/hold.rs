//! One caller that is held back.

use super::pausing::Pausing;
use crate::Nanos;
use crate::clock::Clock;
use crate::sleepers::Sleeper;
use crate::sync::Unparker;
use crate::timeline::{Attempt, Plan, Timeline};

/// One caller that is held back until its slot may start, its deadline comes, or it wants to look
/// around, as long as its plan is the current one.
pub(crate) struct Hold<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) pausing: &'a Pausing,
    pub(crate) attempt: &'a Attempt,
    pub(crate) plan: &'a Plan,
    /// When the caller ends the pause by itself. It keeps its slot.
    pub(crate) limit: i64,
}

impl Hold<'_> {
    pub(super) fn until(&self) -> Nanos {
        Nanos::from_signed(self.plan.release.min(self.attempt.deadline).min(self.limit))
    }

    pub(super) fn stretch_ns(&self) -> i64 {
        self.pausing.stretch_ns(self.plan.interval_ns, self.plan.made_up_for)
    }

    pub(super) fn goes_on(&self, now: Nanos) -> bool {
        now < self.until() && self.is_current()
    }

    fn is_current(&self) -> bool {
        self.timeline.version() == self.plan.version
    }

    /// Enters the caller among the sleepers; false if its plan is outdated.
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
