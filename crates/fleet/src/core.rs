//! What a node does and when: a machine without threads, clocks and connections. It is told the
//! time and the store's answers, and says what to ask for and what the pacer may start.

use crate::blind::Blind;
use crate::book::{Book, Stage};
use crate::error::FleetError;
use crate::frames::{Frames, LEAD};
use crate::load::Load;
use crate::message::{Answer, Ask, Claim, Claimed, Piece, Request, Run, Take};
use crate::owners::{NodeId, Owners};
use crate::tracks::Tracks;
use nanopace::Lease;
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// After an error a node asks again so much later.
const RETRY_NS: u64 = 5_000_000;

/// A node that has nothing to claim gives a sign of life after so many frames.
const SIGN_FRAMES: u64 = 5;

/// At most so many pieces are marked in one request.
const MARKED: usize = 64;

/// A node of a running run.
#[derive(Debug)]
pub(crate) struct Core {
    node: NodeId,
    run: Run,
    load: Load,
    book: Book,
    blind: Blind,
    sequence: u64,
    /// Which part of its own tracks it claims: less than all of them while it is late.
    appetite: f64,
    /// To be asked before anything else.
    urgent: Option<Request>,
    /// Pieces that it has run and that the store may not know of.
    unmarked: VecDeque<Piece>,
    /// Slots that were started by a node that did not own them.
    twice: u64,
    /// Nothing is asked before this moment.
    asks_from: u64,
    asked_at: u64,
    /// The store has not answered the last request.
    is_unanswered: bool,
    /// Frames that it has run without knowing who owns what.
    blind_frames: u64,
    /// It takes part up to this frame.
    leaves: Option<u64>,
    is_told_of_end: bool,
    over: Option<FleetError>,
}

/// What the pacer has to be told.
#[derive(Debug)]
pub(crate) struct Change {
    /// From this frame on,
    pub(crate) frame: u64,
    /// whose first slot this is.
    pub(crate) slot: u64,
    pub(crate) leases: Vec<Lease>,
}

impl Core {
    /// A node that begins at a moment of the run.
    pub(crate) fn new(node: NodeId, run: Run, blind: Blind, now: u64) -> Result<Core, FleetError> {
        let latest = run.versions.last().ok_or(FleetError::Damaged)?;
        let load = Load::new(run.frames, &run.arrivals, run.seed, latest)?;
        let first = run.frames.at(now) + 1;
        Ok(Core {
            node,
            load,
            book: Book::new(first),
            blind,
            sequence: 0,
            appetite: 1.0,
            urgent: None,
            unmarked: VecDeque::new(),
            twice: 0,
            asks_from: 0,
            asked_at: 0,
            is_unanswered: false,
            blind_frames: 0,
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

    /// Since when the node runs without the store.
    pub(crate) fn blind_since(&self) -> Option<u64> {
        self.blind.since()
    }

    pub(crate) fn blind_frames(&self) -> u64 {
        self.blind_frames
    }

    pub(crate) fn twice(&self) -> u64 {
        self.twice
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

    /// What is to be asked now. `is_late`: its oldest slot is more than a frame late.
    pub(crate) fn request(&mut self, now: u64, is_late: bool, progress: &str) -> Option<Request> {
        self.turn(now, is_late);
        if now < self.asks_from || self.over.is_some() {
            return None;
        }
        if self.urgent.is_some() {
            return self.urgent.clone();
        }
        // What it will run without having claimed it, before others do.
        if self.unmarked.front().is_some_and(|piece| now < self.frames().closes(piece.frame)) {
            return Some(self.mark());
        }
        let asks = self.asks(now, is_late);
        let sign = self.asked_at + SIGN_FRAMES * self.frames().frame_ns;
        if asks.is_empty() && now < sign {
            return (!self.unmarked.is_empty()).then(|| self.mark());
        }
        self.asked_at = now;
        self.sequence += 1;
        Some(Request::Claim(Claim {
            id: self.run.id.clone(),
            node: self.node,
            sequence: self.sequence,
            versions: self.run.versions.len() as u64,
            roster: self.run.roster.version,
            progress: progress.to_owned(),
            asks,
        }))
    }

    fn mark(&self) -> Request {
        let pieces = self.unmarked.iter().take(MARKED).cloned().collect();
        Request::Mark { id: self.run.id.clone(), node: self.node, pieces }
    }

    /// Opens frames and puts those away that are over.
    fn turn(&mut self, now: u64, is_late: bool) {
        let open = self.opened(now).min(self.end());
        if open > self.book.next() {
            self.appetite =
                if is_late { self.appetite / 2.0 } else { (self.appetite + 1.0 / 16.0).min(1.0) };
        }
        self.book.open(open);
        self.book.pass(self.frames().at(now), &mut self.load);
    }

    /// The first frame that it does not ask for yet. Nodes ask one after the other, a little behind
    /// the moment at which a frame opens, because clocks differ.
    fn opened(&self, now: u64) -> u64 {
        self.frames().at(now.saturating_sub(self.delay())) + LEAD + 1
    }

    fn delay(&self) -> u64 {
        let (rank, nodes) = self.run.roster.rank(self.node);
        let eighth = self.frames().frame_ns / 8;
        eighth + 3 * eighth * u64::from(rank) / u64::from(nodes)
    }

    fn asks(&self, now: u64, is_late: bool) -> Vec<Ask> {
        let entries = self.book.entries().filter(|entry| now < self.frames().closes(entry.frame));
        let due = entries.filter(|entry| self.due_at(entry.frame, entry.stage, is_late) <= now);
        due.map(|entry| Ask {
            frame: entry.frame,
            take: self.take(entry.frame, entry.stage, is_late),
        })
        .collect()
    }

    /// When a frame's stage is due; [`u64::MAX`] is never.
    fn due_at(&self, frame: u64, stage: Stage, is_late: bool) -> u64 {
        let before =
            |frames: u64| self.frames().begins(frame.saturating_sub(frames)) + self.delay();
        match stage {
            Stage::Own => before(LEAD),
            Stage::Share | Stage::Rest if is_late => {
                self.frames().begins(frame).saturating_sub(self.frames().frame_ns / 2)
            }
            Stage::Share => before(LEAD - 1),
            Stage::Rest => before(LEAD - 2),
            Stage::Done => u64::MAX,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "within the number of tracks"
    )]
    fn take(&self, frame: u64, stage: Stage, is_late: bool) -> Take {
        let (rank, nodes) = self.run.roster.rank(self.node);
        match stage {
            Stage::Own => {
                let own = self.frames().own(frame, rank, nodes).len();
                Take::Own { rank, nodes, most: (self.appetite * own as f64).ceil() as u32 }
            }
            Stage::Rest if !is_late => Take::Share { nodes: 1 },
            Stage::Share | Stage::Rest => Take::Share { nodes },
            Stage::Done => Take::Nothing,
        }
    }

    /// When something is to be done next.
    pub(crate) fn due(&self, now: u64) -> u64 {
        let opens = self
            .frames()
            .begins((self.opened(now) - LEAD).max(self.book.next().saturating_sub(LEAD)))
            + self.delay();
        let opens = if self.book.next() < self.end() { opens } else { u64::MAX };
        let sign = self.asked_at + SIGN_FRAMES * self.frames().frame_ns;
        let marks = if self.unmarked.is_empty() && self.urgent.is_none() { u64::MAX } else { now };
        let entries = self.book.entries().filter(|entry| now < self.frames().closes(entry.frame));
        let stages = entries.map(|entry| self.due_at(entry.frame, entry.stage, false));
        let asks = stages.chain([opens, sign, marks]).min().unwrap_or(u64::MAX);
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let closes = unknown.map(|entry| self.decides(entry.frame)).min();
        asks.max(self.asks_from).min(closes.unwrap_or(u64::MAX))
    }

    /// The store has not answered.
    pub(crate) fn failed(&mut self, now: u64) {
        self.asks_from = now + RETRY_NS;
        self.is_unanswered = true;
    }

    /// The store has answered a claim by a clock that has been set: that is no answer, and asking again
    /// at once does not help. When the run began by that clock is news.
    pub(crate) fn refused(&mut self, origin_us: i64, now: u64) {
        self.run.origin_us = origin_us;
        self.is_unanswered = true;
        self.asks_from = now + self.frames().frame_ns;
    }

    /// The answer to the last request.
    pub(crate) fn answered(
        &mut self,
        request: &Request,
        answer: Answer,
        now: u64,
    ) -> Result<(), FleetError> {
        self.asks_from = 0;
        // From a mark it does not know who owns what, and its next claim may come too late.
        self.is_unanswered &= matches!(request, Request::Mark { .. });
        match (request, answer) {
            (_, Answer::Gone) => self.restore(),
            (_, Answer::Other) => self.over = Some(FleetError::Replaced),
            (Request::Claim(claim), Answer::Claimed(claimed)) => {
                self.claimed(claim, claimed, now)?;
            }
            (Request::Mark { pieces, .. }, Answer::Pieces(clashes)) => {
                self.unmarked.drain(..pieces.len().min(self.unmarked.len()));
                for clash in clashes {
                    self.clashes(&clash, now);
                }
            }
            (Request::Restore { .. } | Request::Rebase { .. }, _) => self.urgent = None,
            _ => {}
        }
        Ok(())
    }

    /// Tracks belong to others: it does not run them, if that can be helped.
    fn clashes(&mut self, clash: &Piece, now: u64) {
        let is_in_time = now < self.frames().closes(clash.frame);
        match self.book.entry(clash.frame).and_then(|entry| entry.tracks.as_mut()) {
            Some(tracks) if is_in_time => {
                *tracks = tracks.iter().filter(|&track| !clash.tracks.contains(track)).collect();
            }
            _ => self.twice += self.load.slots(clash.frame, &clash.tracks),
        }
    }

    fn claimed(&mut self, claim: &Claim, claimed: Claimed, now: u64) -> Result<(), FleetError> {
        // Another node has filled the store again, with what it knew.
        if claimed.floor != self.run.floor
            || (claimed.epoch != self.run.epoch && claimed.origin_us == self.run.origin_us)
        {
            self.mark_all();
        }
        self.run.origin_us = claimed.origin_us;
        self.run.state = claimed.state;
        self.run.floor = claimed.floor;
        self.run.epoch = claimed.epoch;
        let known_until = claimed.versions.first().map_or(u64::MAX, |version| version.from);
        let is_known = |frame: u64| frame < known_until;
        for (ask, owners) in claim.asks.iter().zip(claimed.owners) {
            if is_known(ask.frame) {
                self.owned(*ask, &owners);
            }
        }
        if let Some(roster) = claimed.roster {
            self.run.roster = roster;
        }
        if known_until < u64::MAX {
            self.stray(known_until);
            for version in claimed.versions {
                self.load.set(&version)?;
                self.run.versions.push(version);
            }
            self.redo(known_until, now);
        }
        self.blind.ended();
        Ok(())
    }

    /// The owners of a frame that it has asked for.
    fn owned(&mut self, ask: Ask, owners: &Owners) {
        let own = owners.of(self.node);
        let is_below = ask.frame < self.run.floor;
        let partition = self.partition(ask.frame);
        let Some(entry) = self.book.entry(ask.frame) else { return };
        if is_below && entry.tracks.is_none() {
            // Nobody can claim it, so each node has its own.
            let tracks: Tracks = partition.iter().chain(own.iter()).collect();
            (entry.tracks, entry.stage) = (Some(tracks.clone()), Stage::Done);
            return self.runs_blind(ask.frame, &tracks);
        }
        let known = entry.tracks.clone().unwrap_or_default();
        if known.iter().any(|track| !own.contains(track)) && entry.stage != Stage::Done {
            return self.restore();
        }
        entry.stage = match ask.take {
            Take::Own { .. } => Stage::Share,
            Take::Share { .. } if entry.stage == Stage::Share => Stage::Rest,
            _ => Stage::Done,
        };
        entry.tracks = Some(own);
    }

    /// What was run from a frame on by a shape that had been replaced there is not what the load has.
    fn stray(&mut self, from: u64) {
        let past = self.book.past().iter().filter(|ran| ran.frames.end > from);
        for ran in past {
            for frame in ran.frames.start.max(from)..ran.frames.end {
                self.twice += self.load.slots(frame, &ran.tracks);
            }
        }
    }

    /// The load has another shape from a frame on.
    fn redo(&mut self, from: u64, now: u64) {
        self.book.forget_leases(from.max(self.frames().at(now)));
        self.is_told_of_end = false;
        self.book.cut(self.end());
    }

    fn partition(&self, frame: u64) -> Tracks {
        let (rank, nodes) = self.run.roster.rank(self.node);
        self.frames().own(frame, rank, nodes)
    }

    /// The store does not know what this node knows: it is told all of it.
    fn restore(&mut self) {
        self.urgent = Some(Request::Restore { node: self.node, run: Box::new(self.run.clone()) });
        self.mark_all();
    }

    /// The store is told of all pieces again.
    fn mark_all(&mut self) {
        self.unmarked.clear();
        for ran in self.book.past() {
            for frame in ran.frames.clone().filter(|_| !ran.tracks.is_empty()) {
                self.unmarked.push_back(Piece { frame, tracks: ran.tracks.clone() });
            }
        }
        self.unmarked.extend(self.book.pieces(0));
    }

    /// The store's clock has been set by so much.
    pub(crate) fn step(&mut self, step_us: i64) {
        let (id, from_us) = (self.run.id.clone(), self.run.origin_us);
        self.urgent = Some(Request::Rebase { id, from_us, to_us: from_us + step_us });
    }

    /// When it is decided what becomes of a frame that no answer has come for. Without the store it is
    /// a frame ahead, because the next request may take most of a frame to fail.
    fn decides(&self, frame: u64) -> u64 {
        if self.is_unanswered {
            self.frames().begins(frame.saturating_sub(1))
        } else {
            self.frames().closes(frame)
        }
    }

    /// It runs these tracks, and the store does not know it.
    fn runs_blind(&mut self, frame: u64, tracks: &Tracks) {
        self.blind_frames += 1;
        if !tracks.is_empty() {
            self.unmarked.push_front(Piece { frame, tracks: tracks.clone() });
        }
    }

    /// Decides what becomes of frames that begin soon and that no answer has come for.
    pub(crate) fn settle(&mut self, now: u64) {
        let frames = self.frames();
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let is_decided = |&frame: &u64| self.decides(frame) <= now;
        let closed: Vec<u64> = unknown.map(|entry| entry.frame).filter(is_decided).collect();
        for frame in closed {
            // A node that was frozen comes too late: others have claimed what was free. So does one
            // that has not asked, because it joins or its thread was not run.
            let is_in_time = self.is_unanswered && now < frames.begins(frame + 1);
            let is_blind = is_in_time && self.blind.goes_on(frames.begins(frame));
            let tracks = if is_blind { self.partition(frame) } else { Tracks::default() };
            if is_blind {
                self.runs_blind(frame, &tracks);
            }
            if let Some(entry) = self.book.entry(frame) {
                (entry.tracks, entry.stage) = (Some(tracks), Stage::Done);
            }
        }
        if self.blind.stops(now) {
            self.over.get_or_insert(FleetError::Lost);
        }
    }

    /// What the pacer has to be told, if anything.
    pub(crate) fn change(&mut self) -> Option<Change> {
        if let Some(frame) = self.book.changed() {
            return Some(self.change_from(frame));
        }
        let is_end = self.book.next() >= self.end()
            && self.book.entries().all(|entry| entry.tracks.is_some());
        (is_end && !self.is_told_of_end).then(|| self.change_from(self.book.next()))
    }

    fn change_from(&mut self, frame: u64) -> Change {
        let mut leases = self.book.leases(frame, &mut self.load);
        if frame + leases.len() as u64 >= self.end() {
            leases.push(Lease::nothing(u64::MAX));
        }
        Change { frame, slot: self.load.first(frame), leases }
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
        self.is_told_of_end |= change.frame + change.leases.len() as u64 > self.end();
    }

    /// Whether there are frames that it will take part in.
    pub(crate) fn goes_on(&self, now: u64) -> bool {
        self.leaves.is_none() && self.frames().at(now) + 1 < self.end()
    }

    /// Takes part for so many frames more, and returns what goes back.
    pub(crate) fn leave(&mut self, frames: u64, now: u64) -> Request {
        let from = self.frames().at(now) + frames;
        // All tracks: what it owns without knowing it goes back, too.
        let all: Tracks = (0..self.frames().tracks).collect();
        let piece = |frame| Piece { frame, tracks: all.clone() };
        let pieces = (from..self.book.next()).map(piece).collect();
        self.leaves = Some(from);
        self.book.cut(from);
        Request::Leave { id: self.run.id.clone(), node: self.node, from, pieces }
    }
}
