//! What is promised of lanes. How many slots one takes ahead is its own business, within bounds: the ledger says.

use super::state::index;
use super::{Answer, State, Undecided};
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Lane {
    /// Slots it has taken and not started.
    holds: BTreeSet<u64>,
    /// As many slots it may take the next time.
    most: f64,
}

/// A block spans at most so much of the schedule, or this part of what the caller is late; and never more slots than this.
const SPAN_NS: f64 = 10_000.0;
const PART: f64 = 1.0 / 64.0;
const MOST: f64 = 2048.0;

impl State {
    pub(super) fn open_lane(&mut self, now: f64) {
        let most = self.block(self.next, now);
        self.lanes.push(Lane { holds: BTreeSet::new(), most });
    }

    /// Starts the first slot that it holds, or an earlier one that has come back; a new one where it holds none.
    pub(super) fn lane_acquire(&mut self, lane: usize, now: f64, granted: u64) -> Result<Answer, Undecided> {
        if self.closed {
            // What it would have started goes back.
            if let Some(slot) = self.lanes[lane].holds.pop_first() {
                self.give_back(slot);
            }
            return Ok(Answer::Closed);
        }
        let held = !self.lanes[lane].holds.is_empty();
        let mut slot = self.take_through(lane);
        while !self.passes(slot, now)? {
            if !held && self.lanes[lane].most >= 2.0 {
                return Err(Undecided); // Of the slots that were too late, it may have taken some and given them back.
            }
            // Slots are skipped in their order: what it holds is claimed anew, whoever gets it.
            self.lane_gives_back(lane);
            slot = self.take();
        }
        let most = self.block(slot + 1, now);
        if held {
            self.keep(lane, granted);
            self.lanes[lane].most = most.max(self.lanes[lane].most);
        } else {
            self.take_ahead(lane, slot, granted, most);
            self.lanes[lane].most = most;
        }
        let slot = self.exchanged(slot, now);
        Ok(self.starts(slot, now))
    }

    pub(super) fn lane_gives_back(&mut self, lane: usize) {
        while let Some(slot) = self.lanes[lane].holds.pop_last() {
            self.give_back(slot);
        }
    }

    fn take_through(&mut self, lane: usize) -> u64 {
        let Some(held) = self.lanes[lane].holds.pop_first() else { return self.take() };
        if self.returned.first().is_none_or(|&first| first > held) {
            return held;
        }
        let earlier = self.take();
        self.give_back(held);
        earlier
    }

    /// What it gives back of what it holds are the last ones.
    fn keep(&mut self, lane: usize, granted: u64) {
        while self.granted() > granted {
            let last = self.lanes[lane].holds.pop_last().expect("a lane gives back what it holds");
            self.give_back(last);
        }
        assert_eq!(self.granted(), granted, "a lane that holds slots takes no more");
    }

    /// What it takes ahead follows the slot that it starts.
    fn take_ahead(&mut self, lane: usize, slot: u64, granted: u64, most: f64) {
        let ahead = granted.checked_sub(self.granted()).expect("a lane gives back what it holds");
        assert!(index(ahead + 1) <= most, "a lane took {} slots, should be at most {most}", ahead + 1);
        assert!(ahead == 0 || slot + 1 == self.next, "a lane takes slots in a row");
        self.lanes[lane].holds.extend(self.next..self.next + ahead);
        self.next += ahead;
    }

    /// Who is held back gets an earlier slot that has come back meanwhile.
    fn exchanged(&mut self, slot: u64, now: f64) -> u64 {
        match self.returned.first() {
            Some(&earlier) if earlier < slot && self.release(index(slot)) > now => {
                self.returned.pop_first();
                self.give_back(slot);
                earlier
            }
            _ => slot,
        }
    }

    /// How many slots may be taken at once from `slot` on.
    fn block(&self, slot: u64, now: f64) -> f64 {
        let part = if self.is_endless() { (self.reached(now) - index(slot)) * PART } else { 0.0 };
        // A trace more, for what is rounded on the way.
        (SPAN_NS / self.current().interval).max(part).clamp(1.0, MOST) + 1e-3
    }
}
