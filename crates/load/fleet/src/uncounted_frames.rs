//! Records the tracks that a node has run in frames that have not been counted. Consecutive frames share one entry if
//! the node ran its own tracks according to the same roster in all of them, or the same set of tracks.

use crate::frames::Frames;
use crate::message::Portion;
use crate::track_ownership::TrackSet;
use std::ops::Range;

#[derive(Debug)]
pub(crate) struct UncountedFrames {
    frames: Frames,
    /// The entries, sorted by frame.
    ran: Vec<Ran>,
}

#[derive(Debug)]
struct Ran {
    frames: Range<u64>,
    which: Which,
}

#[derive(Debug)]
enum Which {
    /// The tracks that belong to the node with rank `rank` among `nodes` nodes.
    Part {
        rank: u32,
        nodes: u32,
    },
    These(TrackSet),
}

impl Which {
    fn tracks(&self, frames: Frames, frame: u64) -> TrackSet {
        match self {
            Which::Part { rank, nodes } => frames.own(frame, *rank, *nodes),
            Which::These(tracks) => tracks.clone(),
        }
    }
}

impl UncountedFrames {
    pub(crate) fn new(frames: Frames) -> UncountedFrames {
        UncountedFrames { frames, ran: Vec::new() }
    }

    pub(crate) fn put(&mut self, frame: u64, tracks: TrackSet, (rank, nodes): (u32, u32)) {
        if let Some(last) = self.ran.last_mut()
            && last.frames.end == frame
            && last.which.tracks(self.frames, frame) == tracks
        {
            last.frames.end += 1;
            return;
        }
        let is_part = self.frames.own(frame, rank, nodes) == tracks;
        let which = if is_part { Which::Part { rank, nodes } } else { Which::These(tracks) };
        self.ran.push(Ran { frames: frame..frame + 1, which });
    }

    pub(crate) fn tracks(&self, frame: u64) -> Option<TrackSet> {
        let behind = self.ran.partition_point(|ran| ran.frames.start <= frame);
        let ran = self.ran.get(behind.checked_sub(1)?)?;
        ran.frames.contains(&frame).then(|| ran.which.tracks(self.frames, frame))
    }

    pub(crate) fn portions(&self) -> impl Iterator<Item = Portion> {
        self.ran.iter().flat_map(|ran| self.portions_of(ran, ran.frames.clone()))
    }

    fn portions_of(&self, ran: &Ran, frames: Range<u64>) -> impl Iterator<Item = Portion> {
        let portion = move |frame| Portion { frame, tracks: ran.which.tracks(self.frames, frame) };
        frames.map(portion).filter(|portion| !portion.tracks.is_empty())
    }

    pub(crate) fn take_back(&mut self, from: u64) -> Vec<Portion> {
        let later = |ran: &Ran| from.max(ran.frames.start)..ran.frames.end;
        let taken = self.ran.iter().flat_map(|ran| self.portions_of(ran, later(ran))).collect();
        self.ran.retain(|ran| ran.frames.start < from);
        if let Some(last) = self.ran.last_mut() {
            last.frames.end = last.frames.end.min(from);
        }
        taken
    }

    pub(crate) fn forget(&mut self, until: u64) {
        self.ran.retain(|ran| ran.frames.end > until);
        if let Some(first) = self.ran.first_mut() {
            first.frames.start = first.frames.start.max(until);
        }
    }

    #[cfg(test)]
    pub(crate) fn rows(&self) -> usize {
        self.ran.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const FRAMES: Frames = Frames { frame_ns: 1_000, tracks: 16 };

    #[test]
    fn a_week_of_one_roster_takes_as_much_as_a_frame() {
        for nodes in [1, 3, 7, 40] {
            let mut past = UncountedFrames::new(FRAMES);
            for frame in 0..100_000 {
                past.put(frame, FRAMES.own(frame, nodes - 1, nodes), (nodes - 1, nodes));
            }
            assert_eq!(past.rows(), 1, "{nodes} nodes");
        }
    }

    proptest! {
        #[test]
        fn all_that_was_run_is_there(
            ran in vec((1_u32..5, 0_u8..4, any::<bool>(), 0_u64..3), 1..60),
            from in 0_u64..80,
            until in 0_u64..80,
        ) {
            let (mut past, mut known, mut frame) = (UncountedFrames::new(FRAMES), BTreeMap::new(), 0);
            for (nodes, track, is_part, gap) in ran {
                frame += gap;
                let own = FRAMES.own(frame, 0, nodes);
                let tracks = if is_part { own } else { std::iter::once(track.into()).collect() };
                past.put(frame, tracks.clone(), (0, nodes));
                known.insert(frame, tracks);
                frame += 1;
            }
            for frame in 0..frame + 2 {
                prop_assert_eq!(past.tracks(frame), known.get(&frame).cloned());
            }
            let portions = |known: BTreeMap<u64, TrackSet>| {
                let portion = |(frame, tracks)| Portion { frame, tracks };
                known.into_iter().map(portion).filter(|it| !it.tracks.is_empty()).collect::<Vec<_>>()
            };
            let behind = known.split_off(&from);
            prop_assert_eq!(past.take_back(from), portions(behind));
            prop_assert_eq!(past.portions().collect::<Vec<_>>(), portions(known.clone()));
            past.forget(until);
            prop_assert_eq!(past.portions().collect::<Vec<_>>(), portions(known.split_off(&until)));
        }
    }
}
