//! Records which tracks a node has in the frames around the current one, and which tracks it has run.

use crate::frames::Frames;
use crate::load::Load;
use crate::message::Portion;
use crate::track_ownership::TrackSet;
use crate::uncounted_frames::UncountedFrames;
use nanopace::driver::Lease;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Own,
    Share,
    Rest,
    Done,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) frame: u64,
    pub(crate) stage: Stage,
    /// The node's tracks of the frame, or `None` until they are known.
    pub(crate) tracks: Option<TrackSet>,
    /// The tracks that the node is known to own, while `tracks` is still `None`.
    pub(crate) granted: TrackSet,
    /// Whether the tracks were marked or will be, because the store may not know that the node has them.
    pub(crate) is_marked: bool,
    leased: Option<TrackSet>,
}

impl Entry {
    pub(crate) fn is_leased(&self) -> bool {
        self.leased.is_some()
    }
}

#[derive(Debug)]
pub(crate) struct FrameWindow {
    entries: VecDeque<Entry>,
    next: u64,
    past: UncountedFrames,
    /// The number of slots that were leased to the pacer in frames that have left the window, plus the number of slots
    /// that it started from leases that it gave up later.
    slots: u64,
}

impl FrameWindow {
    pub(crate) fn new(first: u64, frames: Frames) -> FrameWindow {
        FrameWindow {
            entries: VecDeque::new(),
            next: first,
            past: UncountedFrames::new(frames),
            slots: 0,
        }
    }

    pub(crate) fn first(&self) -> u64 {
        self.entries.front().map_or(self.next, |entry| entry.frame)
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn entry(&mut self, frame: u64) -> Option<&mut Entry> {
        let first = self.entries.front()?.frame;
        self.entries.get_mut(usize::try_from(frame.checked_sub(first)?).ok()?)
    }

    pub(crate) fn extend(&mut self, until: u64) {
        for frame in self.next..until {
            self.entries.push_back(Entry {
                frame,
                stage: Stage::Own,
                tracks: None,
                granted: TrackSet::default(),
                is_marked: false,
                leased: None,
            });
        }
        self.next = self.next.max(until);
    }

    pub(crate) fn drop_from(&mut self, from: u64) {
        self.entries.retain(|entry| entry.frame < from);
        self.next = self.next.min(from);
    }

    /// Moves the entries of frames that are over out of the window. `part` is the node's rank, and the number of nodes.
    pub(crate) fn pass(&mut self, now: u64, load: &mut Load, part: (u32, u32)) {
        let is_over = |entry: &&Entry| {
            entry.frame < now && entry.tracks.is_some() && entry.tracks == entry.leased
        };
        let over = self.entries.iter().take_while(is_over).count();
        for entry in self.entries.drain(..over) {
            let tracks = entry.leased.unwrap_or_default();
            self.slots += load.slots(entry.frame, &tracks);
            self.past.put(entry.frame, tracks, part);
        }
    }

    pub(crate) fn past(&self) -> &UncountedFrames {
        &self.past
    }

    pub(crate) fn forget(&mut self, until: u64) {
        self.past.forget(until);
    }

    pub(crate) fn ran(&self, frame: u64) -> Option<TrackSet> {
        let entry = || self.entries.iter().find(|entry| entry.frame == frame)?.leased.clone();
        self.past.tracks(frame).or_else(entry)
    }

    /// Returns the first frame in which the node's tracks differ from the leased tracks. If the tracks of a frame are
    /// not known yet, that frame and all later frames are left out.
    pub(crate) fn changed(&self) -> Option<u64> {
        let is_changed = |entry: &&Entry| entry.tracks.is_some() && entry.tracks != entry.leased;
        let known = self.entries.iter().take_while(|entry| entry.tracks.is_some());
        known.into_iter().find(is_changed).map(|entry| entry.frame)
    }

    pub(crate) fn leases(&self, from: u64, load: &mut Load) -> Vec<Lease> {
        self.known(from).map(|(frame, tracks)| load.lease(frame, tracks)).collect()
    }

    pub(crate) fn known(&self, from: u64) -> impl Iterator<Item = (u64, &TrackSet)> {
        let known = self.entries.iter().skip_while(move |entry| entry.frame < from);
        known.map_while(|entry| entry.tracks.as_ref().map(|tracks| (entry.frame, tracks)))
    }

    pub(crate) fn leased(&mut self, from: u64) {
        for entry in self.entries.iter_mut().skip_while(|entry| entry.frame < from) {
            let Some(tracks) = &entry.tracks else { break };
            entry.leased = Some(tracks.clone());
        }
    }

    pub(crate) fn unleased(&self) -> u64 {
        let has = |entry: &&Entry| entry.leased.is_some();
        self.entries.iter().rfind(has).map_or(self.first(), |entry| entry.frame + 1)
    }

    /// Takes back the leases from the frame `from` on. Their slots are no longer due, except in frames that have left
    /// the window. The pacer gets no new leases before the frame `until`.
    pub(crate) fn take_back(&mut self, from: u64, until: u64) -> Vec<Portion> {
        let mut taken = self.past.take_back(from);
        for entry in self.entries.iter_mut().filter(|entry| entry.frame >= from) {
            let tracks = entry.leased.take().unwrap_or_default();
            taken.push(Portion { frame: entry.frame, tracks });
            if entry.frame < until {
                (entry.tracks, entry.leased) =
                    (Some(TrackSet::default()), Some(TrackSet::default()));
                entry.stage = Stage::Done;
            }
        }
        taken.retain(|portion| !portion.tracks.is_empty());
        taken
    }

    pub(crate) fn count_started(&mut self, slots: u64) {
        self.slots += slots;
    }

    pub(crate) fn mark_known(&mut self) {
        let known = self.entries.iter_mut().filter(|entry| entry.tracks.is_some());
        known.for_each(|entry| entry.is_marked = true);
    }

    /// Returns the tracks that the pacer keeps although the node has dropped them.
    pub(crate) fn give_up(&mut self, frame: u64) -> TrackSet {
        let Some(entry) = self.entry(frame) else { return TrackSet::default() };
        let leased = entry.leased.get_or_insert_default().clone();
        let known = entry.tracks.replace(leased.clone()).unwrap_or_default();
        leased.iter().filter(|&track| !known.contains(track)).collect()
    }

    pub(crate) fn portions(&self) -> impl Iterator<Item = Portion> {
        let known =
            self.entries.iter().filter_map(|entry| Some((entry.frame, entry.tracks.clone()?)));
        known
            .filter(|(_, tracks)| !tracks.is_empty())
            .map(|(frame, tracks)| Portion { frame, tracks })
    }

    /// Returns the number of slots that are due. It includes slots of frames that have left the window, and slots that
    /// the pacer started under an old load.
    pub(crate) fn due_slots(&self, now_ns: u64, frame: u64, load: &mut Load) -> u64 {
        let at =
            self.entries.iter().filter_map(|entry| Some((entry.frame, entry.leased.as_ref()?)));
        let due = at.take_while(|(at, _)| *at <= frame).map(|(at, tracks)| {
            if at < frame { load.slots(at, tracks) } else { load.slots_by(now_ns, tracks) }
        });
        self.slots + due.sum::<u64>()
    }
}
