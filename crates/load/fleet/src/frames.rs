//! How a load is cut into frames and tracks, and whose each piece is by right.

use crate::track_ownership::TrackSet;
use std::time::Duration;

/// How many frames before its beginning a node asks for a frame; earlier still by what round trips take.
pub(crate) const LEAD: u64 = 3;

/// How many frames before its beginning, at most, the store takes claims for a frame.
const MOST_LEAD: u64 = 64;

/// The frames and tracks of a run. Moments are those of the run, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// How long a frame is; whole microseconds.
    pub(crate) frame_ns: u64,
    /// How many tracks a frame has.
    pub(crate) tracks: u32,
}

/// The shortest frame, unless it is set.
pub(crate) const FRAME: Duration = Duration::from_millis(100);

/// A frame is at least as long as this times the nodes: then the store has no more than 5000 claims per second.
const FRAME_OF_A_NODE: Duration = Duration::from_micros(200);

/// The longest frame.
const LONGEST: Duration = Duration::from_secs(10);

impl Frames {
    /// The frames that suit a store that takes a round trip to ask, and this many nodes. `least`: a frame is not
    /// shorter than that.
    pub(crate) fn sized(least: Duration, trip: Duration, nodes: u32) -> Frames {
        let frame = least.max(trip).max(nodes * FRAME_OF_A_NODE).min(LONGEST);
        let frame = frame.as_micros().next_multiple_of(1_000);
        let frame_ns = u64::try_from(frame).unwrap_or(u64::MAX).saturating_mul(1_000);
        Frames { frame_ns, tracks: nodes.next_power_of_two().max(16) }
    }

    /// How many frames before its beginning the store has to take claims for a frame, so that a node which
    /// asks by `ahead_ns` earlier than [`LEAD`] is not too early.
    pub(crate) fn lead(&self, ahead_ns: u64) -> u64 {
        (LEAD + 1 + ahead_ns / self.frame_ns).min(MOST_LEAD)
    }

    pub(crate) fn begins(&self, frame: u64) -> u64 {
        frame.saturating_mul(self.frame_ns)
    }

    /// The frame at a moment.
    pub(crate) fn at(&self, moment_ns: u64) -> u64 {
        moment_ns / self.frame_ns
    }

    /// When a frame closes: until then the store takes claims for it, and a node waits for its answer.
    pub(crate) fn closes(&self, frame: u64) -> u64 {
        self.begins(frame).saturating_sub(self.frame_ns / 4)
    }

    /// All tracks of a frame.
    pub(crate) fn all(&self) -> TrackSet {
        (0..self.tracks).collect()
    }

    /// The tracks that belong to number `rank` of `nodes` nodes in a frame.
    pub(crate) fn own(&self, frame: u64, rank: u32, nodes: u32) -> TrackSet {
        let first = self.first_own(frame, rank, nodes);
        (first..self.tracks).step_by(nodes.max(1) as usize).collect()
    }

    /// The first track of a node; it may lie after the last one, and then the node has none.
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
        fn each_piece_has_one_owner(frame in 0_u64..1 << 50, tracks in 1_u32..100, nodes in 1_u32..200) {
            let frames = Frames { frame_ns: 1_000, tracks };
            let mut owners = vec![0; tracks as usize];
            for rank in 0..nodes {
                for track in frames.own(frame, rank, nodes).iter() {
                    owners[track as usize] += 1;
                    let piece = u128::from(frame) * u128::from(tracks) + u128::from(track);
                    prop_assert_eq!(piece % u128::from(nodes), u128::from(rank));
                }
            }
            prop_assert!(owners.iter().all(|&times| times == 1));
        }
    }
}
