//! What a stay under the lock leaves behind: counts that are up to date, no more of the schedule than
//! is needed, and all of it that may be published.

use super::{Entry, Locked};
use crate::clock::Clock;
use crate::position::{RANGE, earlier, first_after, slots_between};
use crate::schedule::Stretch;
use crate::timeline::published::State;
use crate::timeline::{Timeline, Totals};
use std::ops::Range;

impl Locked {
    /// Whether slots start without the lock, where they lie on a piece or are drawn.
    fn is_open(&self) -> bool {
        !self.closed
            && !self.is_over
            && self.returned.is_empty()
            && self.schedule.policy().is_open_loop()
            && !self.schedule.is_paused()
    }
}

impl Entry<'_> {
    /// Brings the counts up to date, and forgets what is no longer needed of the schedule.
    pub(super) fn tidy(&mut self, now: i64) {
        let (next, _) = self.count_claimed();
        let Locked { schedule, returned, .. } = &mut *self.locked;
        let Timeline { held, sleepers, .. } = self.timeline;
        let is_held =
            |from, to| held.has(from, to) || returned.has(from, to) || sleepers.have(from, to);
        schedule.tidy(next, returned.earliest().unwrap_or(next), now, is_held);
        self.follow_arrivals(next, now);
    }

    /// See [`Schedule::follow_arrivals`](crate::schedule::Schedule::follow_arrivals).
    pub(super) fn follow_arrivals(&mut self, next: u64, now: i64) {
        let Locked { schedule, returned, .. } = &mut *self.locked;
        let held = &self.timeline.held;
        let earliest = || held.earliest().into_iter().chain(returned.earliest()).reduce(earlier);
        schedule.follow_arrivals(next, now, earliest);
    }

    /// For callers of an open loop, at a reading `now` that was made without the lock.
    pub(in crate::timeline) fn upkeep(&mut self, now: i64) {
        self.locked.latest = self.locked.latest.max(now);
        self.tidy(now);
        self.publish_at(now);
    }

    /// Publishes the schedule at a reading of the clock. What was known of the callers' pace stays
    /// known, so that a renewal does not send each of them to the clock.
    pub(super) fn publish_at(&mut self, now: i64) {
        let (last, version) = (self.timeline.published.last_reading(), self.timeline.version());
        self.publish(now);
        if self.timeline.version() != version
            && let Some(snapshot) = self.timeline.published.snapshot()
        {
            self.timeline.published.advance_horizon(&snapshot, self.timeline.next(), now, last);
        }
    }

    /// Publishes the schedule as it is, unless it is published already.
    pub(in crate::timeline) fn publish(&mut self, now: i64) {
        let next = self.timeline.next();
        self.tell_of_the_end();
        let locked = &mut *self.locked;
        let revision = locked.schedule.revision();
        let is_open = locked.is_open();
        if is_open
            && locked.published == Some(revision)
            && self.timeline.published.snapshot().is_some_and(|shown| shown.tells(next))
        {
            return;
        }
        // When the last slot of a stretch is taken, what lies behind it has to be published; or nothing does,
        // and tasks that wait have to know. So that slot is taken under the lock.
        let stretch = if is_open { locked.schedule.stretch(next) } else { None };
        let stretch = stretch.map(Stretch::without_last);
        locked.published = stretch.map(|_| revision);
        let state = match stretch {
            _ if locked.closed => State::Closed,
            Some(stretch) => State::Open(stretch),
            None if is_open => State::Uneven,
            None => State::Guarded,
        };
        if !self.timeline.published.shows(&state) {
            self.timeline.held.allow_runs(is_open);
            self.timeline.published.write(&state, next, now);
        }
    }

    /// Tasks that wait for a slot have to know when there is none any more.
    fn tell_of_the_end(&mut self) {
        let is_over = self.is_finished();
        let was_over = std::mem::replace(&mut self.locked.is_over, is_over);
        if is_over && !was_over {
            self.wake_ups.and(self.timeline.sleepers.watching());
        }
    }

    /// Updates the counts. Returns the next position to be claimed, and how many slots have been. Starts and
    /// changes under the lock call it, and open loops in their upkeep, long before positions wrap around.
    fn count_claimed(&mut self) -> (u64, u64) {
        let next = self.timeline.next();
        let claimed = self.locked.counter.count(next);
        self.locked.schedule.count_claimed(next, claimed);
        (next, claimed)
    }

    /// See [`Pacer::unstarted`](crate::Pacer::unstarted).
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
        let new = (next, next.wrapping_add_signed(RANGE));
        let there = self.locked.returned.ranges().chain([new]);
        let unstarted = there.flat_map(|range| schedule.batches(range, span)).collect();
        self.publish_at(now);
        unstarted
    }

    pub(in crate::timeline) fn totals(&mut self, clock: &dyn Clock) -> Totals {
        let now = self.now(clock);
        let (next, claimed) = self.count_claimed();
        let Locked { schedule, returned, skipped, .. } = &*self.locked;
        let mut account = schedule.account(next, now);
        for (start, end) in returned.ranges() {
            account.give_back(schedule.unused(start, end, now));
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
