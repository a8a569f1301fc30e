//! Sets of tracks.

/// Some tracks of a frame, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracks(Vec<u32>);

impl Tracks {
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

impl FromIterator<u32> for Tracks {
    fn from_iter<I: IntoIterator<Item = u32>>(tracks: I) -> Tracks {
        let mut tracks: Vec<u32> = tracks.into_iter().collect();
        tracks.sort_unstable();
        tracks.dedup();
        Tracks(tracks)
    }
}
