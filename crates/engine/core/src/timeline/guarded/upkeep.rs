//! Updates the counts, drops the parts of the schedule that are no longer needed, and publishes the state for callers,
//! before the lock is released.

use super::{Entry, Locked};
use crate::Clock;
use crate::position::{RANGE, SLOT, earlier, first_after, slots_between, ticks_between};
use crate::schedule::Stretch;
use crate::timeline::published::State;
use crate::timeline::{Timeline, Totals};
use std::ops::Range;

impl Locked {
    fn is_lock_free(&self) -> bool {
        !self.is_closed
            && !self.is_finished
            && self.returned.is_empty()
            && self.schedule.policy().is_open_loop()
            && !self.schedule.is_paused()
    }

    /// `next` must be at most half of all positions away from the `next` of the last call.
    fn claimed_by(&mut self, next: u64) -> u64 {
        let slots = ticks_between(self.counted_to, next) / SLOT.cast_signed();
        self.claimed = self.claimed.saturating_add_signed(slots);
        self.counted_to = next;
        self.claimed
    }
}

impl Entry<'_> {
    pub(super) fn tidy(&mut self, now: i64) {
        let (next, _) = self.count_claimed();
        let Locked { schedule, returned, .. } = &mut *self.locked;
        let Timeline { held, sleepers, .. } = self.timeline;
        let is_held =
            |from, to| held.has(from, to) || returned.has(from, to) || sleepers.have(from, to);
        schedule.tidy(next, returned.earliest().unwrap_or(next), now, is_held);
        self.follow_arrivals(next, now);
    }

    pub(super) fn follow_arrivals(&mut self, next: u64, now: i64) {
        let Locked { schedule, returned, .. } = &mut *self.locked;
        let held = &self.timeline.held;
        let earliest = || held.earliest().into_iter().chain(returned.earliest()).reduce(earlier);
        schedule.follow_arrivals(next, now, earliest);
    }

    pub(in crate::timeline) fn upkeep(&mut self, now: i64) {
        self.locked.latest_reading = self.locked.latest_reading.max(now);
        self.tidy(now);
        self.publish_keeping_pace(now);
    }

    /// If a new stretch is published, due slots may start with the reading `now`, as many as the pace of claims allows.
    pub(super) fn publish_keeping_pace(&mut self, now: i64) {
        let (last, version) = (self.timeline.published.last_reading(), self.timeline.version());
        self.publish(now);
        if self.timeline.version() != version
            && let Some(snapshot) = self.timeline.published.snapshot()
        {
            self.timeline.published.advance_horizon(&snapshot, self.timeline.next(), now, last);
        }
    }

    pub(in crate::timeline) fn publish(&mut self, now: i64) {
        let next = self.timeline.next();
        self.tell_of_the_end();
        let is_lock_free = self.locked.is_lock_free();
        if is_lock_free && self.shows_slot(next) {
            return;
        }
        let state = self.state_for(next, is_lock_free);
        if !self.timeline.published.shows(&state) {
            self.timeline.held.allow_runs(is_lock_free);
            self.timeline.published.write(&state, next, now);
        }
    }

    fn shows_slot(&self, next: u64) -> bool {
        self.locked.published_revision == Some(self.locked.schedule.revision())
            && self.timeline.published.snapshot().is_some_and(|shown| shown.tells(next))
    }

    /// Returns the state to be published. A stretch is published without its last slot: the caller that claims that
    /// slot takes the lock, and then publishes the next stretch, or wakes tasks because no slot is left.
    fn state_for(&mut self, next: u64, is_lock_free: bool) -> State {
        let Locked { schedule, published_revision, is_closed, .. } = &mut *self.locked;
        let stretch = if is_lock_free { schedule.stretch(next) } else { None };
        let stretch = stretch.map(Stretch::without_last);
        *published_revision = stretch.map(|_| schedule.revision());
        match stretch {
            _ if *is_closed => State::Closed,
            Some(stretch) => State::Open(stretch),
            None if is_lock_free => State::Uneven,
            None => State::Guarded,
        }
    }

    fn tell_of_the_end(&mut self) {
        let is_finished = self.is_finished();
        let was_finished = std::mem::replace(&mut self.locked.is_finished, is_finished);
        if is_finished && !was_finished {
            self.wake_ups.and(self.timeline.sleepers.watching());
        }
    }

    /// Must be called long before positions wrap around. Returns the next position and the number of claimed slots.
    fn count_claimed(&mut self) -> (u64, u64) {
        let next = self.timeline.next();
        let claimed = self.locked.claimed_by(next);
        self.locked.schedule.count_claimed(next, claimed);
        (next, claimed)
    }

    /// Slots that are too late are skipped first.
    pub(in crate::timeline) fn unstarted(
        &mut self,
        span: &Range<i64>,
        clock: &dyn Clock,
    ) -> Vec<(i64, u64)> {
        let now = self.now(clock);
        self.tidy(now);
        self.skip_late(now);
        let schedule = &self.locked.schedule;
        let next = self.timeline.next();
        let never_claimed = (next, next.wrapping_add_signed(RANGE));
        let free = self.locked.returned.ranges().chain([never_claimed]);
        let unstarted = free.flat_map(|range| schedule.batches(range, span)).collect();
        self.publish_keeping_pace(now);
        unstarted
    }

    pub(in crate::timeline) fn totals(&mut self, clock: &dyn Clock) -> Totals {
        let now = self.now(clock);
        let (next, claimed) = self.count_claimed();
        let Locked { schedule, returned, skipped, .. } = &*self.locked;
        let mut account = schedule.account(next, now);
        for (start, end) in returned.ranges() {
            account.count_returned(schedule.unused(start, end, now));
        }
        let reached = schedule.reached(now);
        Totals {
            account,
            granted: claimed.saturating_sub(skipped + returned.slots()),
            skipped: *skipped,
            overdue: slots_between(next, first_after(reached)) + returned.due_slots(reached),
        }
    }
}
