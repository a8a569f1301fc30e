//! Records the tracks that a node has run without a claim, and how many of their slots another node owns.

use crate::message::Portion;
use std::collections::{BTreeMap, VecDeque};
use std::mem;

/// The portions that a node has run without a claim, and how many of their slots others own.
#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    /// Portions that the node runs and of which the store may not know. Portions that the node runs blind are put in
    /// front, so that the store knows of them before others claim them.
    pub(super) to_mark: VecDeque<Portion>,
    /// By frame, how many slots were run blind whose owners are not known yet.
    pub(super) unconfirmed: BTreeMap<u64, u64>,
    /// By frame, how many slots the node has started that another node owns.
    pub(super) twice_by_frame: BTreeMap<u64, u64>,
    /// How many more slots were started twice: in frames that have been counted, and by loads that are no longer in
    /// force.
    pub(super) twice_besides: u64,
}

impl Unclaimed {
    /// Slots started by this node that another node owns.
    pub(super) fn twice(&self) -> u64 {
        self.twice_by_frame.values().sum::<u64>() + self.twice_besides
    }

    /// Slots that were run blind and whose owners are not known yet.
    pub(super) fn unconfirmed_slots(&self) -> u64 {
        self.unconfirmed.values().sum()
    }

    /// Notes that a portion of `slots` slots is run blind.
    pub(super) fn runs(&mut self, portion: Portion, slots: u64) {
        self.unconfirmed.insert(portion.frame, slots);
        self.to_mark.push_front(portion);
    }

    /// Notes that the store knows these portions now. They need not be the first ones of `to_mark` any more, because
    /// other portions may have been run blind meanwhile. The owners of frames before `counted` are no longer known, so
    /// their slots count as started twice.
    pub(super) fn marked(&mut self, portions: &[Portion], counted: u64) {
        self.to_mark.retain(|portion| !portions.contains(portion));
        for Portion { frame, .. } in portions {
            let slots = self.unconfirmed.remove(frame).filter(|_| *frame < counted);
            self.twice_besides += slots.unwrap_or(0);
        }
    }

    /// Counts slots of a frame that were started and that another node owns.
    pub(super) fn clash(&mut self, frame: u64, slots: u64) {
        *self.twice_by_frame.entry(frame).or_default() += slots;
    }

    /// Notes that frames before `until` have been counted. Slots that were started twice in them stay counted so.
    pub(super) fn forget(&mut self, until: u64) {
        let kept = self.twice_by_frame.split_off(&until);
        self.twice_besides += mem::replace(&mut self.twice_by_frame, kept).values().sum::<u64>();
    }

    /// Notes that another load is in force from the frame `from` on, and that the node can take part in it from the
    /// frame `next` on. Slots that the node ran in between by the old load are counted by its
    /// [`Cut`](super::cut::Cut). They are not marked, because the store would make the node the owner of slots of
    /// the new load.
    pub(super) fn load_changed(&mut self, from: u64, next: u64) {
        self.twice_by_frame.retain(|&frame, _| frame < from);
        self.unconfirmed.retain(|&frame, _| frame < from);
        self.to_mark.retain(|portion| !(from..next).contains(&portion.frame));
    }

    /// Makes the node mark these portions, all that it has. The store then says anew which of them others own.
    pub(super) fn mark_all(&mut self, portions: impl Iterator<Item = Portion>) {
        self.twice_by_frame.clear();
        self.to_mark = portions.collect();
    }
}
