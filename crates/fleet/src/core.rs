//! What a node does and when: a machine without threads, clocks and connections. It is told the
//! time and the store's answers, and says what to ask for and what the pacer may start.

use crate::blind::Blind;
use crate::book::{Book, Stage};
use crate::error::FleetError;
use crate::frames::{Frames, LEAD};
use crate::load::Load;
use crate::message::{Piece, Request, Run};
use crate::owners::NodeId;
use crate::progress::Progress;
use crate::tracks::Tracks;
use crate::trips::Trips;
use nanopace::driver::Lease;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

mod answers;
mod asks;
mod counts;
#[cfg(test)]
pub(crate) mod tests;

/// A node that has not looked around for so long, and half a frame, was not run.
const STALL_NS: u64 = 30_000_000;

/// A node that has come too far by an old load sits out for so many frames at most: months.
const SITS_OUT: u64 = 1 << 30;

/// A node of a running run.
#[derive(Debug)]
pub(crate) struct Core {
    node: NodeId,
    run: Run,
    load: Load,
    book: Book,
    blind: Blind,
    /// The number of the last request.
    sequence: u64,
    /// The number of the last claim that the store answered.
    answered: u64,
    /// Whether the node's oldest slot is more than a frame late.
    is_late: bool,
    /// The part of its own tracks that the node claims: 1 unless it is or was late.
    appetite: f64,
    /// A request that has to come before all others.
    urgent: Option<Request>,
    /// Pieces that the node runs although the store may not know it.
    unmarked: VecDeque<Piece>,
    /// By frame, the slots of those pieces. The store has not said yet who owns them.
    unsaid: BTreeMap<u64, u64>,
    /// By frame, slots that the node started and another node owns.
    clashes: BTreeMap<u64, u64>,
    /// More such slots: of frames that have been counted, and of a load that was not in force any more.
    strays: u64,
    /// Nothing is asked before this moment.
    asks_from: u64,
    /// When the node made its last claim.
    asked_at: u64,
    /// When the request was sent that has not been answered yet, if there is one.
    waits: Option<u64>,
    heard: Heard,
    trips: Trips,
    /// When the node's thread ran last.
    looked: u64,
    /// When the node's thread ran again after it had stood still.
    woke: u64,
    /// When a claim was answered last.
    heard_at: u64,
    /// When a claim was answered for the first time after long, or the store was filled again.
    disturbed: u64,
    /// How many frames the node has run without knowing who owns what.
    blind_frames: u64,
    /// The slot that the pacer has come to by a load that was not in force any more.
    came_to: u64,
    /// The frame of that slot by the load in force. The pacer has nothing before it.
    resumes: u64,
    cut: Option<Cut>,
    /// The first frame that the node takes no part in, once it leaves.
    leaves: Option<u64>,
    /// Whether the pacer knows where the node's part ends.
    is_told_of_end: bool,
    /// Why the node can't go on, if it can't.
    over: Option<FleetError>,
}

/// What came of the last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Answer,
    Nothing,
    /// An answer to a claim by a clock that has been set.
    Refused,
}

/// What the pacer has to be told.
#[derive(Debug)]
pub(crate) struct Change {
    /// The first frame of the leases.
    pub(crate) frame: u64,
    /// The first slot of that frame.
    pub(crate) slot: u64,
    pub(crate) leases: Vec<Lease>,
    /// Of what comes before it nothing else is leased, so it may as well be from a later slot on.
    pub(crate) is_rest: bool,
}

/// The load has changed, from a frame on that may have begun. What the pacer has from there on was by
/// the old load.
#[derive(Debug)]
pub(crate) struct Cut {
    /// What it starts from this slot on by the new load would be wrong.
    pub(crate) slot: u64,
    /// What it had.
    pieces: Vec<Piece>,
    old: Load,
    /// The first frame that it can take part in.
    next: u64,
}

impl Core {
    /// A node that begins at a moment of the run.
    pub(crate) fn new(
        node: NodeId,
        run: Run,
        (blind, trips): (Blind, Trips),
        now: u64,
    ) -> Result<Core, FleetError> {
        let load = Load::of(&run)?;
        let first = run.frames.at(now) + 1;
        Ok(Core {
            node,
            load,
            book: Book::new(first, run.frames),
            blind,
            sequence: 0,
            answered: 0,
            is_late: false,
            appetite: 1.0,
            urgent: None,
            unmarked: VecDeque::new(),
            unsaid: BTreeMap::new(),
            clashes: BTreeMap::new(),
            strays: 0,
            asks_from: 0,
            asked_at: 0,
            waits: None,
            heard: Heard::Answer,
            trips,
            looked: now,
            woke: 0,
            heard_at: now,
            disturbed: now,
            blind_frames: 0,
            came_to: 0,
            resumes: 0,
            cut: None,
            leaves: None,
            is_told_of_end: false,
            over: None,
            run,
        })
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    fn frames(&self) -> Frames {
        self.run.frames
    }

    /// What it tells of itself, besides what its pacer has done.
    pub(crate) fn progress(&self, now: u64) -> Progress {
        Progress {
            twice: self.twice(),
            blind_ns: self.blind.since().map_or(0, |since| now.saturating_sub(since)),
            unmarked: self.unsaid.values().sum(),
            limit_ns: self.blind.limit_ns(),
            members: self.run.roster.rank(self.node).1,
            versions: self.run.versions.len() as u64,
            change: self.run.change(),
            told_ns: now,
            ..Progress::default()
        }
    }

    /// Since when the node runs without the store.
    pub(crate) fn blind_since(&self) -> Option<u64> {
        self.blind.since()
    }

    pub(crate) fn blind_frames(&self) -> u64 {
        self.blind_frames
    }

    pub(crate) fn twice(&self) -> u64 {
        self.clashes.values().sum::<u64>() + self.strays
    }

    /// Slots that the pacer was given and that were due by now.
    pub(crate) fn due_slots(&mut self, now: u64) -> u64 {
        self.book.due_slots(now, self.frames().at(now), &mut self.load)
    }

    /// Why it can't go on, if it can't.
    pub(crate) fn over(&self) -> Option<&FleetError> {
        self.over.as_ref()
    }

    /// Whether all that it has run is known to the store.
    pub(crate) fn is_marked(&self) -> bool {
        self.unmarked.is_empty() && self.urgent.is_none()
    }

    /// The first frame that it takes no part in.
    fn end(&self) -> u64 {
        let ends = [self.load.end(), self.leaves];
        ends.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn partition(&self, frame: u64) -> Tracks {
        if frame < self.resumes {
            return Tracks::default();
        }
        let (rank, nodes) = self.run.roster.rank(self.node);
        self.frames().own(frame, rank, nodes)
    }

    /// It runs these tracks of a frame, and the store does not know it. It asks for no more: others may
    /// be blind too.
    fn runs_blind(&mut self, frame: u64, tracks: Tracks) {
        self.blind_frames += 1;
        if !tracks.is_empty() {
            self.unsaid.insert(frame, self.load.slots(frame, &tracks));
            self.unmarked.push_front(Piece { frame, tracks: tracks.clone() });
        }
        if let Some(entry) = self.book.entry(frame) {
            (entry.tracks, entry.stage, entry.is_told) = (Some(tracks), Stage::Done, true);
        }
    }

    /// Decides what becomes of frames that begin soon and that no answer has come for. A node whose
    /// store answers has not asked in time, because it was frozen or its thread not run: it still can,
    /// and so it leaves them open.
    pub(crate) fn settle(&mut self, now: u64) {
        let frames = self.frames();
        if now > self.looked + STALL_NS + frames.frame_ns / 2 {
            self.woke = now;
        }
        self.looked = now;
        if now < self.despairs() {
            return;
        }
        // A node that has become blind just now, or is blind already, may be a little late.
        let grace = frames.begins(self.blind.since().map_or(1, |_| LEAD));
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let closed = unknown.map(|entry| entry.frame).filter(|&frame| frames.closes(frame) <= now);
        for frame in closed.collect::<Vec<u64>>() {
            let begins = frames.begins(frame);
            if now < begins + grace && self.blind.goes_on(begins) {
                let tracks = self.partition(frame);
                self.runs_blind(frame, tracks);
            } else if let Some(entry) = self.book.entry(frame) {
                (entry.tracks, entry.stage) = (Some(Tracks::default()), Stage::Done);
            }
        }
        if self.blind.stops(now) {
            self.over.get_or_insert(FleetError::Lost);
        }
    }

    /// From when on it goes without an answer: after an error at once, and otherwise when one is
    /// overdue. A node that was not run gives the answer that may be there the time to be heard.
    fn despairs(&self) -> u64 {
        let long = self.trips.long_ns() + self.frames().frame_ns / 8;
        match self.heard {
            Heard::Answer => self.waits.map_or(u64::MAX, |since| since.max(self.woke) + long),
            Heard::Nothing | Heard::Refused => self.woke + long,
        }
    }

    /// A request was sent.
    pub(crate) fn sent(&mut self, now: u64) {
        self.waits = Some(now);
    }

    /// Whether it waits for an answer.
    pub(crate) fn waits(&self) -> bool {
        self.waits.is_some()
    }

    /// How long an answer to a claim is waited for. Meanwhile it may be of use, although it comes late.
    pub(crate) fn patience(&self) -> Duration {
        self.trips.patience((LEAD + 1) * self.frames().frame_ns)
    }

    /// What the pacer has to give up before it is told of another load.
    pub(crate) fn cut(&mut self) -> Option<Cut> {
        self.cut.take()
    }

    /// The pacer has nothing from this slot on. What it has started by the old load is not what the
    /// load has there.
    pub(crate) fn came_to(&mut self, mut cut: Cut, slot: u64) {
        let strays = cut.pieces.iter().map(|Piece { frame, tracks }| {
            let (first, end) = (cut.old.first(*frame), cut.old.first(frame + 1).min(slot));
            cut.old.slots_between(first.min(end), end, tracks)
        });
        let strays = strays.sum::<u64>();
        self.strays += strays;
        if strays > 0 {
            self.came_to = slot;
        }
        self.sit_out(cut.next);
    }

    /// As [`came_to`](Core::came_to), for a pacer that has started whole frames.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn came_to_a_frame(&mut self, mut cut: Cut) {
        let slot = cut.old.first(cut.next);
        self.came_to(cut, slot);
    }

    /// Takes part again when the load has come to where its pacer is.
    fn sit_out(&mut self, from: u64) {
        let far = self.end().clamp(from, from + SITS_OUT);
        let (mut low, mut high, mut step) = (from, from, 1);
        while high < far && self.load.first(high) < self.came_to {
            (low, high, step) = (high + 1, (high + step).min(far), 2 * step);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.load.first(middle) < self.came_to { low = middle + 1 } else { high = middle }
        }
        self.resumes = high;
    }

    /// How many rows of frames it remembers.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn rows(&self) -> usize {
        self.book.past().rows()
    }

    /// What the pacer has to be told, if anything.
    pub(crate) fn change(&mut self) -> Option<Change> {
        if let Some(frame) = self.book.changed() {
            return Some(self.change_from(frame));
        }
        let is_end = self.has_closed() && self.book.entries().all(|entry| entry.tracks.is_some());
        (is_end && !self.is_told_of_end).then(|| self.change_from(self.book.next()))
    }

    /// Whether its last frame has closed. Until then it may get what another node gives back.
    fn has_closed(&self) -> bool {
        let end = self.end();
        self.book.next() >= end && self.looked >= self.frames().closes(end.saturating_sub(1))
    }

    fn change_from(&mut self, frame: u64) -> Change {
        let mut leases = self.book.leases(frame, &mut self.load);
        if self.has_closed() && frame + leases.len() as u64 >= self.end() {
            leases.push(Lease::nothing(u64::MAX));
        }
        let is_rest = frame >= self.book.next();
        Change { frame, slot: self.load.first(frame), leases, is_rest }
    }

    /// What the pacer of a simulation is told.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn known(&self, change: &Change) -> Vec<(u64, Tracks)> {
        let known = self.book.known(change.frame);
        known.map(|(frame, tracks)| (frame, tracks.clone())).collect()
    }

    /// The pacer has taken a change, or it was too late for the change's first frame.
    pub(crate) fn told(&mut self, change: &Change, is_taken: bool) {
        if !is_taken {
            return self.book.give_up(change.frame);
        }
        self.book.leased(change.frame);
        self.is_told_of_end = change.frame + change.leases.len() as u64 > self.end();
    }

    /// Whether it is not known yet what it has in a frame before it has left, if it leaves now.
    pub(crate) fn is_undecided(&self, now: u64) -> bool {
        let last = self.leaves_from(now);
        self.book.entries().any(|entry| entry.frame < last && entry.tracks.is_none())
    }

    /// From this frame on a node that leaves now takes no part: others still ask for it.
    fn leaves_from(&self, now: u64) -> u64 {
        self.frames().at(now + self.frames().frame_ns / 2) + 3
    }

    /// The change by which it takes part no more from a frame on for which others still ask.
    pub(crate) fn last_change(&mut self, now: u64) -> Change {
        let frame = self.leaves_from(now);
        let (slot, leases) = (self.load.first(frame), vec![Lease::nothing(u64::MAX)]);
        // A pacer that has come further by an old load has nothing there.
        Change { frame, slot, leases, is_rest: frame < self.resumes }
    }

    /// The pacer has taken the [last change](Core::last_change). What it had behind that goes back.
    pub(crate) fn leave(&mut self, last: &Change) -> Request {
        // All tracks: what it owns without knowing it goes back, too.
        let all: Tracks = (0..self.frames().tracks).collect();
        let piece = |frame| Piece { frame, tracks: all.clone() };
        let pieces = (last.frame..self.book.next()).map(piece).collect();
        self.leaves = Some(last.frame);
        self.book.cut(last.frame);
        self.unmarked.retain(|piece| piece.frame < last.frame);
        self.is_told_of_end = true;
        Request::Leave { id: self.run.id.clone(), node: self.node, from: last.frame, pieces }
    }

    /// Claims nothing more.
    pub(crate) fn stop_claiming(&mut self, now: u64) {
        let from = self.frames().at(now) + 1;
        self.leaves = Some(self.leaves.map_or(from, |leaves| leaves.min(from)));
    }
}
