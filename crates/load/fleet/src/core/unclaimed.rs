//! Records the tracks that a node has run without a claim, and how many of their slots other nodes own.

use crate::message::Portion;
use std::collections::{BTreeMap, VecDeque};
use std::mem;

#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    /// Portions that the node runs, and that the store may not know. Portions that are run blind are put at the front,
    /// so that the store learns of them before other nodes can claim their tracks.
    pub(super) to_mark: VecDeque<Portion>,
    /// For each frame, the number of slots that the node has run blind and not marked yet.
    pub(super) unconfirmed: BTreeMap<u64, u64>,
    pub(super) twice_by_frame: BTreeMap<u64, u64>,
    /// The number of other slots that were started twice: those in counted frames, and those under earlier loads.
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

    /// Records that portions were marked. Before the response, more portions may have been put at the front of
    /// `to_mark`. The owners of frames before `counted` have been forgotten, so unconfirmed slots of these portions in
    /// these frames count as started twice.
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

    /// Forgets the frames before `until`, because they have been counted. Their slots that were started twice stay
    /// counted as started twice.
    pub(super) fn forget(&mut self, until: u64) {
        let kept = self.twice_by_frame.split_off(&until);
        self.twice_besides += mem::replace(&mut self.twice_by_frame, kept).values().sum::<u64>();
    }

    /// Drops the records of the old load from the frame `from` on. The slots that the node ran from the frame `from` to
    /// the frame `next` under the old load are counted with its [`Cut`](super::cut::Cut). They are not marked, because
    /// the store would make the node the owner of slots of the new load.
    pub(super) fn load_changed(&mut self, from: u64, next: u64) {
        self.twice_by_frame.retain(|&frame, _| frame < from);
        self.unconfirmed.retain(|&frame, _| frame < from);
        self.to_mark.retain(|portion| !(from..next).contains(&portion.frame));
    }

    /// Makes the node mark these portions. The responses to these marks report again which tracks other nodes own, so
    /// the counts by frame of slots that were started twice are cleared first.
    pub(super) fn mark_all(&mut self, portions: impl Iterator<Item = Portion>) {
        self.twice_by_frame.clear();
        self.to_mark = portions.collect();
    }
}
