//! Computes what a pacer must give up when the load changes.

use crate::load::Load;
use crate::message::Portion;

/// The leases that a pacer has under the old load, in frames in which a new load is in force. Some of these frames may
/// have begun.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The number of the slot from which the pacer gives up its leases. This is the first slot of the new load, or the
    /// first slot of the old load that is not due, whichever is later. If the pacer's leases end earlier, it is their
    /// end.
    pub(crate) slot: u64,
    /// The portions that the pacer had in these frames under the old load.
    pub(super) portions: Vec<Portion>,
    /// The number of their slots in frames that are over, which the window still counts.
    pub(super) over: u64,
    /// The old load.
    pub(super) old: Load,
    /// The first frame of the new load.
    pub(super) from: u64,
    /// The first frame in which the node can take part under the new load. It is earlier than `from` if the node
    /// learned of the change in time.
    pub(super) next: u64,
}

impl Cut {
    /// Returns the number of slots before `slot` that the pacer had under the old load.
    pub(super) fn slots_before(&mut self, slot: u64) -> u64 {
        let Cut { portions, old, .. } = self;
        let before = portions.iter().map(|Portion { frame, tracks }| {
            let (first, end) = (old.first(*frame), old.first(frame + 1).min(slot));
            old.slots_between(first.min(end), end, tracks)
        });
        before.sum()
    }
}
