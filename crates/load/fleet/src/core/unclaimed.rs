//! Records the tracks that a node has run without a claim, and how many of their slots other nodes own.

use crate::message::Portion;
use std::collections::{BTreeMap, VecDeque};
use std::mem;

#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    /// Portions that the node runs, and that the store may not know. Blind portions are put at the front, so that the
    /// store learns of them before other nodes can claim them.
    pub(super) to_mark: VecDeque<Portion>,
    /// For each frame, the number of slots that were run blind and whose owners are still unknown.
    pub(super) unconfirmed: BTreeMap<u64, u64>,
    /// For each frame, the number of slots that the node has started although another node owns them.
    pub(super) twice_by_frame: BTreeMap<u64, u64>,
    /// Includes slots in counted frames, and under loads that are no longer in force.
    pub(super) twice_besides: u64,
}

impl Unclaimed {
    pub(super) fn twice(&self) -> u64 {
        self.twice_by_frame.values().sum::<u64>() + self.twice_besides
    }

    pub(super) fn unconfirmed_slots(&self) -> u64 {
        self.unconfirmed.values().sum()
    }

    pub(super) fn runs(&mut self, portion: Portion, slots: u64) {
        self.unconfirmed.insert(portion.frame, slots);
        self.to_mark.push_front(portion);
    }

    /// Records that the store now knows these portions. They may no longer be the first ones of `to_mark`, because
    /// other portions may have been run blind since then. The owners of frames before `counted` are forgotten, so slots
    /// in these frames count as started twice.
    pub(super) fn marked(&mut self, portions: &[Portion], counted: u64) {
        self.to_mark.retain(|portion| !portions.contains(portion));
        for Portion { frame, .. } in portions {
            let slots = self.unconfirmed.remove(frame).filter(|_| *frame < counted);
            self.twice_besides += slots.unwrap_or(0);
        }
    }

    pub(super) fn clash(&mut self, frame: u64, slots: u64) {
        *self.twice_by_frame.entry(frame).or_default() += slots;
    }

    /// Records that frames before `until` have been counted. Their slots that were started twice remain counted.
    pub(super) fn forget(&mut self, until: u64) {
        let kept = self.twice_by_frame.split_off(&until);
        self.twice_besides += mem::replace(&mut self.twice_by_frame, kept).values().sum::<u64>();
    }

    /// Records that another load is in force from the frame `from` on, and that the node can take part in it from the
    /// frame `next` on. The node's [`Cut`](super::cut::Cut) counts slots that the node ran between these frames under
    /// the old load. They are not marked, because the store would make the node the owner of slots of the new load.
    pub(super) fn load_changed(&mut self, from: u64, next: u64) {
        self.twice_by_frame.retain(|&frame, _| frame < from);
        self.unconfirmed.retain(|&frame, _| frame < from);
        self.to_mark.retain(|portion| !(from..next).contains(&portion.frame));
    }

    /// Makes the node mark these portions, which are all that it has. The store will report clashes among them again.
    pub(super) fn mark_all(&mut self, portions: impl Iterator<Item = Portion>) {
        self.twice_by_frame.clear();
        self.to_mark = portions.collect();
    }
}
