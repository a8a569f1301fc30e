//! Who owns what in a frame, as bytes.

use crate::owners::{NodeId, Owners};
use crate::store::CHUNK;
use std::collections::HashMap;

/// By the number of the chunk.
pub(super) type Chunks = HashMap<u64, Vec<u8>>;

/// The owners of a frame: a part of a chunk, which is only as long as it has to be.
pub(super) struct Row<'a> {
    chunk: &'a mut Vec<u8>,
    first: usize,
    tracks: u32,
}

impl Row<'_> {
    pub(super) fn new(owners: &mut Chunks, frame: u64, tracks: u32) -> Row<'_> {
        let first = (frame % CHUNK) as usize * 2 * tracks as usize;
        Row { chunk: owners.entry(frame / CHUNK).or_default(), first, tracks }
    }

    fn at(&self, track: u32) -> usize {
        self.first + 2 * track as usize
    }

    pub(super) fn owner(&self, track: u32) -> NodeId {
        let pair = self.chunk.get(self.at(track)..self.at(track) + 2);
        pair.map_or(0, |pair| NodeId::from_be_bytes([pair[0], pair[1]]))
    }

    /// The whole row is written, unless there is nothing to write.
    pub(super) fn set(&mut self, tracks: &[u32], node: NodeId) {
        if tracks.is_empty() {
            return;
        }
        let length = self.chunk.len().max(self.at(self.tracks));
        self.chunk.resize(length, 0);
        for &track in tracks {
            let at = self.at(track);
            self.chunk[at..at + 2].copy_from_slice(&node.to_be_bytes());
        }
    }

    pub(super) fn all(&self) -> Owners {
        let end = self.at(self.tracks);
        let known = self.chunk.get(self.first..end.min(self.chunk.len())).unwrap_or_default();
        let mut all = known.to_vec();
        all.resize(end - self.first, 0);
        Owners(all)
    }
}
