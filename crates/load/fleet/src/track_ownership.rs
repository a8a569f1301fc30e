//! Defines sets of tracks of a frame, and the owners of its tracks.

/// A set of tracks of one frame, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrackSet(Vec<u32>);

impl TrackSet {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, track: u32) -> bool {
        self.0.binary_search(&track).is_ok()
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

impl FromIterator<u32> for TrackSet {
    fn from_iter<I: IntoIterator<Item = u32>>(tracks: I) -> TrackSet {
        let mut tracks: Vec<u32> = tracks.into_iter().collect();
        tracks.sort_unstable();
        tracks.dedup();
        TrackSet(tracks)
    }
}

/// The number of a node in its run, counted from 1.
pub(crate) type NodeId = u16;

/// The owners of a frame's tracks, in the format of the store. Each track takes two bytes, which contain the number of
/// its owner, or 0 if the track is free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners(pub(crate) Vec<u8>);

impl Owners {
    /// Returns the owner of each track. Free tracks at the end may be missing.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<NodeId>> + '_ {
        let pairs = self.0.chunks_exact(2);
        pairs.map(|pair| Some(u16::from_be_bytes([pair[0], pair[1]])).filter(|&id| id > 0))
    }

    pub(crate) fn is_free(&self, track: u32) -> bool {
        let at = 2 * track as usize;
        self.0.get(at..at + 2).is_none_or(|owner| owner == [0, 0])
    }

    pub(crate) fn of(&self, node: NodeId) -> TrackSet {
        let own = self.iter().zip(0..).filter(|&(owner, _)| owner == Some(node));
        own.map(|(_, track)| track).collect()
    }
}
