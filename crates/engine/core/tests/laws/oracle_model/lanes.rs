//! Implements the rules for lanes. The ledger shows how many slots a lane has claimed in advance.

use super::state::index;
use super::{Answer, State, Undecided, When};

#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The first of the slots that the lane has claimed and not started. `slots` is their number.
    first: u64,
    slots: u64,
    /// Pairs: a number of slots that the lane may have started, and the clock reading since which it may have started
    /// them.
    paces: Vec<(f64, f64)>,
}

/// In one claim, a lane takes as many slots as it starts within this time. The number is at most [`MOST`], and at most
/// twice the number of slots that it started with its last clock reading.
const YOUNG_NS: f64 = 10_000.0;
const MOST: f64 = 2048.0;

impl Lane {
    fn most(&self, now: f64) -> f64 {
        let at_pace = |&(used, read_at): &(f64, f64)| {
            let used = used.min(MOST);
            (used * YOUNG_NS / (now - read_at).max(1.0)).min(2.0 * used)
        };
        // The margin covers intermediate rounding.
        self.paces.iter().map(at_pace).fold(1.0, f64::max).min(MOST) + 1e-3
    }
}

impl State {
    /// Starts the next slot of the lane. The lane starts its slots in order, and gives them back if another caller has
    /// given back an earlier slot.
    pub(super) fn lane_acquire(
        &mut self,
        lane: usize,
        now: f64,
        granted: u64,
    ) -> Result<(Answer, When), Undecided> {
        let (held, most) = (self.lanes[lane].slots, self.lanes[lane].most(now));
        self.lane_gives_back(lane);
        let (answer, at) = self.acquire_by(f64::MAX, 1, now)?;
        if let Answer::Granted { start, .. } = answer {
            let ahead =
                granted.checked_sub(self.granted()).expect("a lane gives back what it holds");
            self.take_ahead(lane, ahead);
            let lane = &mut self.lanes[lane];
            // The lane continues with the slots that it held, or it has read the clock and holds new slots.
            if held > 0 && ahead + 1 == held {
                lane.paces.iter_mut().for_each(|(used, _)| *used += 1.0);
            } else {
                assert!(
                    index(ahead + 1) <= most,
                    "a lane took {} slots, should be at most {most}",
                    ahead + 1
                );
                lane.paces.clear();
            }
            lane.paces.push((1.0, start.at));
        }
        Ok((answer, at))
    }

    fn take_ahead(&mut self, lane: usize, ahead: u64) {
        let slots: Vec<u64> = (0..ahead).map(|_| self.take()).collect();
        assert!(slots.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a lane takes slots in a row");
        assert!(
            ahead == 0 || self.rules.is_open_loop(),
            "where a policy is set a lane takes slots one by one"
        );
        let first = slots.first().copied().unwrap_or(0);
        (self.lanes[lane].first, self.lanes[lane].slots) = (first, ahead);
    }

    pub(super) fn lane_gives_back(&mut self, lane: usize) {
        let Lane { first, slots, .. } = self.lanes[lane];
        self.lanes[lane].slots = 0;
        (first..first + slots).rev().for_each(|slot| self.give_back(slot));
    }
}
