//! Wakes each task that awaits a claim when the claim's slot is due. A change of the schedule wakes all of them.

use super::{ClaimKey, PATIENCE, Stay, WaitQueue};
use nanopace::{Ended, Nanos};
use std::task::Waker;
use std::time::Duration;

impl WaitQueue {
    /// Registers a task that awaits a claim. If the task should hold on for the slot, returns the time for which it
    /// should hold on, and does not register the task.
    pub(crate) fn keep(
        &self,
        key: &mut Option<ClaimKey>,
        waker: &Waker,
        due: impl FnOnce() -> Result<Nanos, Ended>,
    ) -> Option<Duration> {
        let mut stay = self.enter();
        stay.dropped = key.take().and_then(|key| stay.state.claims.remove(&key));
        stay.watch();
        let now = self.pacer.now();
        stay.state.holding.pass(now);
        // If the claim has ended, the task has to check it again at once.
        let due = due().unwrap_or(now);
        if stay.holds_on(due, now) {
            stay.state.holding.spend(due - now);
            return Some(due - now);
        }
        stay.state.last_ticket += 1;
        let new = *key.insert((due, stay.state.last_ticket));
        stay.state.claims.insert(new, waker.clone());
        // Checks all tasks, because setting the timer cancels a ring that is under way.
        stay.look(None)
    }

    pub(crate) fn forget(&self, key: &mut Option<ClaimKey>, started: Option<Nanos>) {
        let Some(key) = key.take() else { return };
        let mut stay = self.enter();
        stay.dropped = stay.state.claims.remove(&key);
        stay.state.started = started.unwrap_or(stay.state.started);
    }
}

impl Stay<'_> {
    pub(super) fn wake_claims(&mut self, now: Nanos) {
        while let Some(&(due, _)) = self.state.claims.keys().next() {
            if !self.holds_on(due, now) {
                self.set_timer_for_claims(self.ring_time(due, now), now);
                return;
            }
            let first = self.state.claims.pop_first();
            self.woken.0.extend(first.map(|(_, waker)| waker));
        }
    }

    /// Sets the timer for a claim, unless this would delay the next ring that is needed for a woken task that has not
    /// come.
    fn set_timer_for_claims(&mut self, at: Nanos, now: Nanos) {
        let needs_the_next_ring = self.state.rings_again && self.state.waits_for_a_task();
        if at - now <= 2 * PATIENCE || !needs_the_next_ring {
            self.set_timer_if_earlier(at, now);
        }
    }

    pub(super) fn wake_all_claims(&mut self) {
        let claims = std::mem::take(&mut self.state.claims);
        self.woken.0.extend(claims.into_values());
    }
}
