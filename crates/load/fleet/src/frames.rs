//! Divides a load into frames and tracks, and defines which tracks are a node's own.

use crate::track_ownership::TrackSet;
use std::time::Duration;

/// A node asks for its own tracks of a frame this number of frames before the frame begins, and earlier by half a frame
/// and the time for its round trips.
pub(crate) const LEAD: u64 = 3;

const MOST_LEAD: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The length of a frame, which is a whole number of microseconds.
    pub(crate) frame_ns: u64,
    pub(crate) tracks: u32,
}

pub(crate) const FRAME: Duration = Duration::from_millis(100);

/// The shortest length of a frame, per node. It limits the store's load to about 5000 claims per second.
const FRAME_OF_A_NODE: Duration = Duration::from_micros(200);

const LONGEST: Duration = Duration::from_secs(10);

impl Frames {
    pub(crate) fn sized(least: Duration, trip: Duration, nodes: u32) -> Frames {
        let frame = least.max(trip).max(nodes * FRAME_OF_A_NODE).min(LONGEST);
        let frame = frame.as_micros().next_multiple_of(1_000);
        let frame_ns = u64::try_from(frame).unwrap_or(u64::MAX).saturating_mul(1_000);
        Frames { frame_ns, tracks: nodes.next_power_of_two().max(16) }
    }

    /// Returns how many frames before a frame begins the store must start to accept claims for it. A node that asks
    /// `ahead_ns` earlier than [`LEAD`] frames before the beginning is then not too early.
    pub(crate) fn lead(&self, ahead_ns: u64) -> u64 {
        (LEAD + 1 + ahead_ns / self.frame_ns).min(MOST_LEAD)
    }

    pub(crate) fn begins(&self, frame: u64) -> u64 {
        frame.saturating_mul(self.frame_ns)
    }

    pub(crate) fn at(&self, moment_ns: u64) -> u64 {
        moment_ns / self.frame_ns
    }

    /// Returns the time at which a frame is sealed. From this time on, only nodes that have missed the frame can claim
    /// its tracks, and a node without a response decides alone.
    pub(crate) fn sealed_at(&self, frame: u64) -> u64 {
        self.begins(frame).saturating_sub(self.frame_ns / 4)
    }

    pub(crate) fn all(&self) -> TrackSet {
        (0..self.tracks).collect()
    }

    pub(crate) fn own(&self, frame: u64, rank: u32, nodes: u32) -> TrackSet {
        let first = self.first_own(frame, rank, nodes);
        (first..self.tracks).step_by(nodes.max(1) as usize).collect()
    }

    /// Returns the first track that is the node's own. If it is larger than the last track, the node has no track of
    /// its own.
    fn first_own(&self, frame: u64, rank: u32, nodes: u32) -> u32 {
        let nodes = u64::from(nodes.max(1));
        let passed = frame % nodes * (u64::from(self.tracks) % nodes) % nodes;
        let first = (u64::from(rank) + nodes - passed) % nodes;
        u32::try_from(first).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_cell_has_one_owner(frame in 0_u64..1 << 50, tracks in 1_u32..100, nodes in 1_u32..200) {
            let frames = Frames { frame_ns: 1_000, tracks };
            let mut owners = vec![0; tracks as usize];
            for rank in 0..nodes {
                for track in frames.own(frame, rank, nodes).iter() {
                    owners[track as usize] += 1;
                    let cell = u128::from(frame) * u128::from(tracks) + u128::from(track);
                    prop_assert_eq!(cell % u128::from(nodes), u128::from(rank));
                }
            }
            prop_assert!(owners.iter().all(|&times| times == 1));
        }
    }
}
