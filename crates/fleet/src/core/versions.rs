//! Another version of the load, from a frame on that may have begun. The pacer gives up what it has by the
//! old load, and the node takes part again when the new load has come to the slot that its pacer had reached.

use super::Core;
use super::cut::Cut;
use crate::error::FleetError;
use crate::load::Load;
use crate::message::{Claimed, Version};
use std::mem;

/// For how many frames a node sits out at most whose pacer has come too far by an old load. They are half a year at
/// least.
const SITS_OUT: u64 = 1 << 30;

impl Core {
    /// What the pacer has to give up before it is told of another load.
    pub(crate) fn take_cut(&mut self) -> Option<Cut> {
        self.cut.take()
    }

    /// The pacer has given the cut up, and has nothing from `slot` on. What it has started before that slot by
    /// the old load is not what the new load has there, and counts as started twice.
    pub(crate) fn gave_up(&mut self, mut cut: Cut, slot: u64) {
        let wrong = cut.slots_before(slot);
        self.unclaimed.twice_besides += wrong;
        if wrong > 0 {
            self.reached = slot;
        }
        self.sit_out(cut.next);
    }

    /// Like [`gave_up`](Core::gave_up), for a pacer that has started whole frames.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn gave_up_whole_frames(&mut self, mut cut: Cut) {
        let slot = cut.old.first(cut.next);
        self.gave_up(cut, slot);
    }

    /// Takes no part before the load has come to the slot that its pacer had reached, and not before `from`.
    fn sit_out(&mut self, from: u64) {
        let far = self.end().clamp(from, from + SITS_OUT);
        let (mut low, mut high, mut step) = (from, from, 1);
        while high < far && self.load.first(high) < self.reached {
            (low, high, step) = (high + 1, (high + step).min(far), 2 * step);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.load.first(middle) < self.reached { low = middle + 1 } else { high = middle }
        }
        self.resumes = high;
    }

    /// How many of the node's versions are the run's, and which versions follow them. Another change may
    /// have been made in place of the node's last one.
    pub(super) fn other_versions(&self, claimed: &Claimed) -> (usize, Vec<Version>) {
        let known = self.run.versions.len();
        let listed = usize::try_from(claimed.known).unwrap_or(usize::MAX);
        let start = listed.saturating_sub(claimed.versions.len()).min(known);
        let pairs = self.run.versions[start..].iter().zip(&claimed.versions);
        let same = pairs.take_while(|(own, other)| own == other).count();
        match &claimed.versions[same..] {
            [] => (known, Vec::new()),
            other => (start + same, other.to_vec()),
        }
    }

    /// Keeps the first `same` versions of the load, and puts these in place of the others.
    pub(super) fn change_load(
        &mut self,
        same: usize,
        versions: Vec<Version>,
        now: u64,
    ) -> Result<(), FleetError> {
        let Some((first, later)) = versions.split_first() else { return Ok(()) };
        let replaced = self.run.versions.split_off(same);
        let from = replaced.first().map_or(first.from, |own| own.from.min(first.from));
        let kept = if replaced.is_empty() { None } else { Some(Load::of(&self.run)?) };
        let new = kept.as_ref().unwrap_or(&self.load).changed(first)?;
        let new = later.iter().try_fold(new, |load, change| load.changed(change))?;
        self.run.versions.extend(versions);
        self.follow(new, from, now);
        Ok(())
    }

    /// From the frame `from` on the load is this one. What the pacer has there by the old load is cut.
    fn follow(&mut self, new: Load, from: u64, now: u64) {
        // The pacer has not started what it was not told of, however late that is.
        let unleased = self.book.unleased().max(from);
        let next = (self.frames().at(now + self.frames().frame_ns / 2) + 1).min(unleased);
        let slot = self.load.first(from).max(self.load.slot_at(now).min(self.load.first(unleased)));
        let old = mem::replace(&mut self.load, new);
        self.cut = Some(Cut { slot, pieces: self.book.take_back(from, next), old, next });
        self.unclaimed.load_changed(from, next);
        self.run.ends = self.load.end();
        self.is_told_of_end = false;
        self.book.drop_from(self.end());
    }
}
