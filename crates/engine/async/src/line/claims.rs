//! Tasks that have claims. Each is called when its own slot is due, by the timer of the line, and
//! when the schedule changes, to look again. Nobody depends on whether it comes.

use super::{Call, Line, PATIENCE, Stay};
use nanopace::{Ended, Nanos};
use std::task::Waker;
use std::time::Duration;

impl Line {
    /// Calls a task when its claim is due, as `due` tells. If that is now, or so soon that the task
    /// had best hold on: for how long, and it is not called.
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
        // If it has ended, the task is to look again at once.
        let due = due().unwrap_or(now);
        if stay.holds_on(due, now) {
            stay.queue.holding.spend(due - now);
            return Some(due - now);
        }
        stay.queue.last_ticket += 1;
        let key = (due, stay.queue.last_ticket);
        stay.queue.claims.insert(key, waker.clone());
        *call = Some(key);
        // For all, because setting the timer takes back a ring that is under way.
        stay.look(None)
    }

    /// The task is not to be called any more: its claim has started, or it goes back.
    pub(crate) fn forget(&self, call: &mut Option<Call>, started: Option<Nanos>) {
        let Some(call) = call.take() else { return };
        let mut stay = self.enter();
        stay.dropped = stay.queue.claims.remove(&call);
        stay.queue.started = started.unwrap_or(stay.queue.started);
    }
}

impl Stay<'_> {
    /// Calls the tasks whose time has come, and sets the timer for the next.
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

    /// While others wait for a task in line to come, the timer is to ring again soon, and setting it
    /// would put that off.
    fn set_timer_for_claims(&mut self, at: Nanos, now: Nanos) {
        if at - now <= 2 * PATIENCE || !self.queue.waits_for_a_task() {
            self.set_timer_if_earlier(at, now);
        }
    }

    pub(super) fn call_all_claims(&mut self) {
        let claims = std::mem::take(&mut self.queue.claims);
        self.called.0.extend(claims.into_values());
    }
}
