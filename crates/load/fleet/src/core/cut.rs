//! Computes what a pacer must give up when the load changes.

use crate::load::Load;
use crate::message::Portion;

/// The leases that the pacer received under the old load for frames in which the new load is in force. Some of these
/// frames may have begun.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The slot from which the pacer gives up its leases: the first slot of the new load, or the first slot of the old
    /// load that is not due yet, whichever is later, but at most the end of the pacer's leases.
    pub(crate) slot: u64,
    pub(super) portions: Vec<Portion>,
    /// The number of those slots of `portions` that lie in past frames and that the window has already counted.
    pub(super) over: u64,
    pub(super) old: Load,
    pub(super) from: u64,
    /// The first frame in which the node can still take part after the change. It is earlier than `from` if the node
    /// learned of the change in time.
    pub(super) next: u64,
}

impl Cut {
    pub(super) fn slots_before(&mut self, slot: u64) -> u64 {
        let Cut { portions, old, .. } = self;
        let before = portions.iter().map(|Portion { frame, tracks }| {
            let (first, end) = (old.first(*frame), old.first(frame + 1).min(slot));
            old.slots_between(first.min(end), end, tracks)
        });
        before.sum()
    }
}
