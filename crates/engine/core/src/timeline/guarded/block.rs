//! Provides blocks: unevenly spaced slots that a lane claims together under the lock.

use super::Entry;
use crate::position::{SLOT, after};
use crate::schedule::Schedule;
use crate::timeline::{Claimed, LaneRun, Pace, Timeline};
use crate::{Clock, Grant};

/// The maximum number of slots of a block. The limit keeps a lane small and the time under the lock short.
const LONGEST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Block {
    version: u64,
    grants: Vec<Grant>,
    used: usize,
    end_position: u64,
}

impl Block {
    #[inline]
    pub(crate) fn next(&mut self, version: u64) -> Option<Grant> {
        let grant = *self.grants.get(self.used).filter(|_| version == self.version)?;
        self.used += 1;
        Some(grant)
    }

    pub(crate) fn left(&self) -> u64 {
        (self.grants.len() - self.used) as u64
    }

    pub(crate) fn take_rest(&mut self) -> Claimed {
        let slots = self.left();
        self.clear();
        Claimed::new(self.end_position.wrapping_sub(slots.wrapping_mul(SLOT)), slots)
    }

    fn clear(&mut self) {
        self.used = self.grants.len();
    }
}

impl Timeline {
    pub(crate) fn has_blocks(&self) -> bool {
        self.published.is_uneven()
    }

    /// Fills the block with at most [`LONGEST`] due slots that the lane may start with one reading of the clock, and
    /// returns that reading. Returns `None` if the lane has to start slots one by one.
    pub(crate) fn claim_block(
        &self,
        pace: Pace,
        lane: &LaneRun,
        block: &mut Block,
        clock: &dyn Clock,
    ) -> Option<i64> {
        self.under_lock().claim_block(pace, lane, block, clock)
    }
}

impl Entry<'_> {
    fn claim_block(
        &mut self,
        pace: Pace,
        lane: &LaneRun,
        block: &mut Block,
        clock: &dyn Clock,
    ) -> Option<i64> {
        if !self.timeline.has_blocks() {
            return None;
        }
        let now = self.now(clock);
        self.tidy(now);
        let start = self.timeline.next();
        // If the next slot is late by more than the range, each start in turn may have to forfeit time.
        if Schedule::may_be_out_of_range(self.locked.schedule.intended(start), now) {
            return None;
        }
        self.draw(block, start, pace, now);
        if !self.claim_slots_of(block, start) {
            return None;
        }
        if block.left() > 1 {
            lane.set(Some((start, block.end_position)));
        }
        self.timeline.published.report_at(block.end_position, now);
        self.publish(now);
        Some(now)
    }

    fn claim_slots_of(&self, block: &mut Block, start: u64) -> bool {
        let end = block.end_position;
        let is_claimed = end != start && self.timeline.exchange(start, end);
        if !is_claimed {
            block.clear();
        }
        is_claimed
    }

    fn draw(&self, block: &mut Block, start: u64, pace: Pace, now: i64) {
        let most =
            usize::try_from(pace.allowance(now)).map_or(LONGEST, |most| most.clamp(1, LONGEST));
        let due = self.locked.schedule.due_from(start, now).take(most);
        block.grants.clear();
        block.grants.extend(due.map(|(intended, slot)| Grant::at(intended, now, slot)));
        if self.has_the_last(start, block.grants.len() as u64) {
            block.grants.pop();
        }
        (block.version, block.used) = (self.timeline.version(), 0);
        block.end_position = after(start, block.left());
    }

    pub(super) fn draw_for_all(&self, now: i64) {
        let Timeline { drawn: Some(drawn), published, .. } = self.timeline else { return };
        if !published.is_uneven() {
            return;
        }
        let (start, version) = (self.timeline.next(), self.timeline.version());
        let more = usize::try_from(published.report_more(start, now)).unwrap_or(usize::MAX);
        let schedule = &self.locked.schedule;
        let is_in_range = || !Schedule::may_be_out_of_range(schedule.intended(start), now);
        if !drawn.has(start, version) && is_in_range() {
            let due = schedule.due_from(start, now).take(more);
            let is_last = |slots| u64::from(self.has_the_last(start, slots));
            let end = |slots: u64| after(start, slots.saturating_sub(is_last(slots)));
            drawn.write(version, start, now, due, end);
        }
    }

    /// Returns whether the schedule's last slot is the last of these slots. The caller that claims the schedule's last
    /// slot has to wake waiting tasks, so that slot is not drawn, but claimed separately under the lock.
    fn has_the_last(&self, start: u64, slots: u64) -> bool {
        self.locked.schedule.ends_before(after(start, slots))
    }
}
