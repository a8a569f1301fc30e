//! Wakes each task that awaits a claim when the claim's slot is due. A change of the schedule wakes all of them.

use super::{Call, Line, PATIENCE, Stay};
use nanopace::{Ended, Nanos};
use std::task::Waker;
use std::time::Duration;

impl Line {
    /// Registers a task that awaits a claim. If the task should hold on for the slot, returns the time for which it
    /// should hold on, and does not register the task.
    pub(crate) fn keep(
        &self,
        call: &mut Option<Call>,
        waker: &Waker,
        due: impl FnOnce() -> Result<Nanos, Ended>,
    ) -> Option<Duration> {
        let mut stay = self.enter();
        stay.dropped = call.take().and_then(|call| stay.queue.claims.remove(&call));
        stay.watch();
        let now = self.pacer.now();
        stay.queue.holding.pass(now);
        // If the claim has ended, the task has to check it again at once.
        let due = due().unwrap_or(now);
        if stay.holds_on(due, now) {
            stay.queue.holding.spend(due - now);
            return Some(due - now);
        }
        stay.queue.last_ticket += 1;
        let key = (due, stay.queue.last_ticket);
        stay.queue.claims.insert(key, waker.clone());
        *call = Some(key);
        // Checks all tasks, because setting the timer cancels a ring that is under way.
        stay.look(None)
    }

    pub(crate) fn forget(&self, call: &mut Option<Call>, started: Option<Nanos>) {
        let Some(call) = call.take() else { return };
        let mut stay = self.enter();
        stay.dropped = stay.queue.claims.remove(&call);
        stay.queue.started = started.unwrap_or(stay.queue.started);
    }
}

impl Stay<'_> {
    pub(super) fn call_claims(&mut self, now: Nanos) {
        while let Some(&(due, _)) = self.queue.claims.keys().next() {
            if !self.holds_on(due, now) {
                self.set_timer_for_claims(self.call_time(due, now), now);
                return;
            }
            let first = self.queue.claims.pop_first();
            self.called.0.extend(first.map(|(_, waker)| waker));
        }
    }

    /// Sets the timer for a claim, unless this would delay the next ring that is needed for a called task that has not
    /// come.
    fn set_timer_for_claims(&mut self, at: Nanos, now: Nanos) {
        let needs_the_next_ring = self.queue.rings_again && self.queue.waits_for_a_task();
        if at - now <= 2 * PATIENCE || !needs_the_next_ring {
            self.set_timer_if_earlier(at, now);
        }
    }

    pub(super) fn call_all_claims(&mut self) {
        let claims = std::mem::take(&mut self.queue.claims);
        self.called.0.extend(claims.into_values());
    }
}
