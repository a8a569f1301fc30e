//! Who owns the tracks of a frame, as the store keeps it: two bytes for each track, which are the
//! number of a node, or 0 while nobody owns it.

use crate::tracks::Tracks;

/// The number of a node in its run, from 1 on.
pub(crate) type NodeId = u16;

/// The owners of a frame's tracks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners(pub(crate) Vec<u8>);

impl Owners {
    /// Each track's owner; none while it is free. Tracks after the last that was claimed may be left
    /// out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<NodeId>> + '_ {
        let pairs = self.0.chunks_exact(2);
        pairs.map(|pair| Some(u16::from_be_bytes([pair[0], pair[1]])).filter(|&id| id > 0))
    }

    pub(crate) fn is_free(&self, track: u32) -> bool {
        let at = 2 * track as usize;
        self.0.get(at..at + 2).is_none_or(|owner| owner == [0, 0])
    }

    pub(crate) fn of(&self, node: NodeId) -> Tracks {
        let own = self.iter().zip(0..).filter(|&(owner, _)| owner == Some(node));
        own.map(|(_, track)| track).collect()
    }
}
