//! What a node has run without a claim, and how much it has started that another node owns.

use crate::message::Piece;
use std::collections::{BTreeMap, VecDeque};
use std::mem;

#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    /// Pieces that the node runs and that the store may not know of. What it runs blind comes in front, before
    /// others claim it.
    pub(super) to_mark: VecDeque<Piece>,
    /// Slots by frame that were run blind and whose owners the store has not told yet.
    pub(super) unconfirmed: BTreeMap<u64, u64>,
    /// Slots by frame that the node has started and another node owns.
    pub(super) twice_by_frame: BTreeMap<u64, u64>,
    /// More such slots, of frames that have been counted and of loads that are no longer in force.
    pub(super) twice_besides: u64,
}

impl Unclaimed {
    /// Slots started by this node that another node owns.
    pub(super) fn twice(&self) -> u64 {
        self.twice_by_frame.values().sum::<u64>() + self.twice_besides
    }

    /// Slots that were run and whose owners are not known yet.
    pub(super) fn unconfirmed(&self) -> u64 {
        self.unconfirmed.values().sum()
    }

    /// Notes that a piece of `slots` slots is run blind.
    pub(super) fn runs(&mut self, piece: Piece, slots: u64) {
        self.unconfirmed.insert(piece.frame, slots);
        self.to_mark.push_front(piece);
    }

    /// The store knows these pieces now. They need not be the first ones any more: more may have been run
    /// blind since they were told. Of frames before `counted` nobody can say any more whose they were: their
    /// slots were started twice.
    pub(super) fn marked(&mut self, pieces: &[Piece], counted: u64) {
        self.to_mark.retain(|piece| !pieces.contains(piece));
        for Piece { frame, .. } in pieces {
            let slots = self.unconfirmed.remove(frame).filter(|_| *frame < counted);
            self.twice_besides += slots.unwrap_or(0);
        }
    }

    /// Counts slots of a frame that were started and that another node owns.
    pub(super) fn clash(&mut self, frame: u64, slots: u64) {
        *self.twice_by_frame.entry(frame).or_default() += slots;
    }

    /// Frames before `until` have been counted: what was started twice in them stays so.
    pub(super) fn forget(&mut self, until: u64) {
        let kept = self.twice_by_frame.split_off(&until);
        self.twice_besides += mem::replace(&mut self.twice_by_frame, kept).values().sum::<u64>();
    }

    /// Another load is in force from the frame `from` on, and the node takes part in it from `next` on. What
    /// it ran there by the old load is counted by its [`Cut`](super::cut::Cut), and not marked: the store
    /// would make the node the owner of slots of the new load.
    pub(super) fn load_changed(&mut self, from: u64, next: u64) {
        self.twice_by_frame.retain(|&frame, _| frame < from);
        self.unconfirmed.retain(|&frame, _| frame < from);
        self.to_mark.retain(|piece| !(from..next).contains(&piece.frame));
    }

    /// The store is told all that the node has, and says then anew what was started twice.
    pub(super) fn mark_all(&mut self, pieces: impl Iterator<Item = Piece>) {
        self.twice_by_frame.clear();
        self.to_mark = pieces.collect();
    }
}
