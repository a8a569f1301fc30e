//! Replaces the load when the node receives a new version of it. The frame from which the version is in force may
//! already have begun. The pacer gives up its leases of the old load. If it has already started slots of these leases,
//! the node *sits out*: it takes part again when the new load reaches the slot that the pacer has reached.

use super::Core;
use super::cut::Cut;
use crate::error::FleetError;
use crate::load::Load;
use crate::message::{Claimed, Version};
use std::mem;

const MOST_SITTING_OUT: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct NewVersions {
    /// The number of versions at the beginning of the node's list that are still valid.
    same: usize,
    versions: Vec<Version>,
}

impl Core {
    pub(crate) fn take_cut(&mut self) -> Option<Cut> {
        self.cut.take()
    }

    /// Records that the pacer has given up its leases from `slot` on. The earlier slots of these leases, which it
    /// started under the old load, differ from the slots of the new load, so they count as started twice.
    pub(crate) fn gave_up(&mut self, mut cut: Cut, slot: u64) {
        let started = cut.slots_before(slot);
        self.unclaimed.twice_besides += started;
        self.book.count_started(started.saturating_sub(cut.over));
        if started > 0 {
            self.reached_slot = slot;
        }
        // A node that learned of the change in time still takes part in the frames before the new load.
        if started > 0 || cut.next >= cut.from || self.resumes_in > cut.from {
            self.sit_out(cut.next.max(cut.from));
        }
    }

    /// Records the cut of a pacer that starts whole frames, as in a simulation.
    #[cfg(test)]
    pub(crate) fn gave_up_whole_frames(&mut self, mut cut: Cut) {
        let slot = cut.old.first(cut.next);
        self.gave_up(cut, slot);
    }

    /// Makes the node sit out until the frame `from` has come and the load has reached `reached_slot`.
    fn sit_out(&mut self, from: u64) {
        let far = self.end().clamp(from, from + MOST_SITTING_OUT);
        let (mut low, mut high, mut step) = (from, from, 1);
        while high < far && self.load.first(high) < self.reached_slot {
            (low, high, step) = (high + 1, (high + step).min(far), 2 * step);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.load.first(middle) < self.reached_slot {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.resumes_in = high;
    }

    /// Compares the store's versions with those that the node knows. Another change may have replaced the last version
    /// that the node knows.
    pub(super) fn new_versions(&self, answer: &Claimed) -> NewVersions {
        let known = self.run.versions.len();
        // The store has `answer.known` versions, and the response contains only the last ones.
        let listed = usize::try_from(answer.known).unwrap_or(usize::MAX);
        let start = listed.saturating_sub(answer.versions.len()).min(known);
        let pairs = self.run.versions[start..].iter().zip(&answer.versions);
        let same = pairs.take_while(|(own, other)| own == other).count();
        match &answer.versions[same..] {
            [] => NewVersions { same: known, versions: Vec::new() },
            other => NewVersions { same: start + same, versions: other.to_vec() },
        }
    }

    pub(super) fn changed_from(&self, new: &NewVersions) -> u64 {
        let changes = new.versions.iter().chain(&self.run.versions[new.same..]);
        changes.map(|version| version.from).min().unwrap_or(u64::MAX)
    }

    pub(super) fn change_load(&mut self, new: NewVersions, now: u64) -> Result<(), FleetError> {
        let NewVersions { same, versions } = new;
        let Some((first, later)) = versions.split_first() else { return Ok(()) };
        let replaced = self.run.versions.split_off(same);
        let from = replaced.first().map_or(first.from, |own| own.from.min(first.from));
        let kept = if replaced.is_empty() { None } else { Some(Load::of(&self.run)?) };
        let load = kept.as_ref().unwrap_or(&self.load).changed(first)?;
        let load = later.iter().try_fold(load, |load, change| load.changed(change))?;
        self.run.versions.extend(versions);
        self.follow(load, from, now);
        Ok(())
    }

    /// Replaces the load with `new`, which is in force from the frame `from` on.
    fn follow(&mut self, new: Load, from: u64, now: u64) {
        // The pacer has no leases from the frame `unleased` on, so it has started no slots there, even if the slots are
        // due.
        let unleased = self.book.unleased().max(from);
        let next = (self.frames().at(now + self.frames().frame_ns / 2) + 1).min(unleased);
        let slot = self.load.first(from).max(self.load.slot_at(now).min(self.load.first(unleased)));
        let mut old = mem::replace(&mut self.load, new);
        let over = self.book.first();
        let portions = self.book.take_back(from, next);
        let of_over = portions.iter().filter(|portion| portion.frame < over);
        let over = of_over.map(|portion| old.slots(portion.frame, &portion.tracks)).sum();
        self.cut = Some(Cut { slot, portions, over, old, from, next });
        self.unclaimed.load_changed(from, next);
        self.run.ends = self.load.end();
        self.is_told_of_end = false;
        self.book.drop_from(self.end());
    }
}
