//! What a pacer has to give up when the load changes.

use crate::load::Load;
use crate::message::Piece;

/// The load has changed, from a frame on that may have begun. From there on the pacer has slots by the old
/// load.
#[derive(Debug)]
pub(crate) struct Cut {
    /// From this slot on the pacer gives up what it has: from the first one of the new load or, if that
    /// comes later, from the first one that is not due yet.
    pub(crate) slot: u64,
    /// What the pacer had by the old load.
    pub(super) pieces: Vec<Piece>,
    /// The load by which the pacer had them.
    pub(super) old: Load,
    /// The first frame in which the node can take part by the new load.
    pub(super) next: u64,
}

impl Cut {
    /// How many slots before `slot` the pacer had by the old load.
    pub(super) fn slots_before(&mut self, slot: u64) -> u64 {
        let Cut { pieces, old, .. } = self;
        let before = pieces.iter().map(|Piece { frame, tracks }| {
            let (first, end) = (old.first(*frame), old.first(frame + 1).min(slot));
            old.slots_between(first.min(end), end, tracks)
        });
        before.sum()
    }
}
