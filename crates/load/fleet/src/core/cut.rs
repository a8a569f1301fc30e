//! Computes what a pacer has to give up when the load changes.

use crate::load::Load;
use crate::message::Portion;

/// The leases that a pacer has by the old load in frames in which a new load is in force. Such frames may have begun.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The number of the slot from which on the pacer gives up what it has. It is the first slot of the new load or the
    /// first one of the old load that is not due, whichever comes later. Where the pacer's leases end before that, it
    /// is where they end.
    pub(crate) slot: u64,
    /// The portions that the pacer had by the old load, in those frames.
    pub(super) portions: Vec<Portion>,
    /// How many slots of it are in frames that are over, which the book goes on counting.
    pub(super) over: u64,
    /// The load by which the pacer had them.
    pub(super) old: Load,
    /// The first frame of the new load.
    pub(super) from: u64,
    /// The first frame in which the node can take part by the new load; an earlier one if it learned of the change in
    /// time.
    pub(super) next: u64,
}

impl Cut {
    /// How many slots before `slot` the pacer had by the old load.
    pub(super) fn slots_before(&mut self, slot: u64) -> u64 {
        let Cut { portions, old, .. } = self;
        let before = portions.iter().map(|Portion { frame, tracks }| {
            let (first, end) = (old.first(*frame), old.first(frame + 1).min(slot));
            old.slots_between(first.min(end), end, tracks)
        });
        before.sum()
    }
}
