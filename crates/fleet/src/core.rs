//! What a node does and when: a machine without threads, clocks and connections. It is told the
//! time and the store's answers, and says what to ask for and what the pacer may start.

use crate::blind::Blind;
use crate::book::{Book, Entry, Stage};
use crate::error::FleetError;
use crate::frames::{Frames, LEAD};
use crate::load::Load;
use crate::message::{Answer, Ask, Claim, Claimed, Piece, Request, Run, Take, Version};
use crate::owners::{NodeId, Owners};
use crate::tracks::Tracks;
use nanopace::Lease;
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// After an error a node asks again so much later.
pub(crate) const RETRY_NS: u64 = 5_000_000;

/// A node that has nothing to claim gives a sign of life after so many frames.
const SIGN_FRAMES: u64 = 5;

/// A node that was frozen asks for frames that it has missed, but not for more than so many.
const MISSED: u64 = 256;

/// A node that has come too far by an old load sits out for so many frames at most.
const SITS_OUT: u64 = 5_000;

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
    /// That of the last claim that was answered.
    answered: u64,
    /// Which part of its own tracks it claims: less than all of them while it is late.
    appetite: f64,
    /// To be asked before anything else.
    urgent: Option<Request>,
    /// Pieces that it has run and that the store may not know of.
    unmarked: VecDeque<Piece>,
    /// Slots that were started and belong to another node.
    clashes: u64,
    /// Slots that were started by a load that was not in force any more.
    strays: u64,
    /// Nothing is asked before this moment.
    asks_from: u64,
    asked_at: u64,
    /// The store has not answered the last request.
    is_unanswered: bool,
    /// It has answered the last claim by a clock that has been set.
    is_refused: bool,
    /// Frames that it has run without knowing who owns what.
    blind_frames: u64,
    /// It has started slots of a load that was not in force any more, and its pacer has come so far
    /// that it has nothing before this frame.
    resumes: u64,
    /// What its pacer has from this slot on was by a load that is not in force any more.
    cut: Option<u64>,
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
            answered: 0,
            appetite: 1.0,
            urgent: None,
            unmarked: VecDeque::new(),
            clashes: 0,
            strays: 0,
            asks_from: 0,
            asked_at: 0,
            is_unanswered: false,
            is_refused: false,
            blind_frames: 0,
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

    /// Since when the node runs without the store.
    pub(crate) fn blind_since(&self) -> Option<u64> {
        self.blind.since()
    }

    pub(crate) fn blind_frames(&self) -> u64 {
        self.blind_frames
    }

    pub(crate) fn twice(&self) -> u64 {
        self.clashes + self.strays
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
        if now < self.asks_from || matches!(self.over, Some(FleetError::Replaced)) {
            return None;
        }
        if self.urgent.is_some() || self.over.is_some() {
            return self.repair();
        }
        // What it will run without having claimed it, before others do.
        if self.unmarked.front().is_some_and(|piece| now < self.frames().closes(piece.frame)) {
            return self.repair();
        }
        // While its clock is off, it would grant what this node does not take.
        let asks = if self.is_refused { Vec::new() } else { self.asks(now, is_late) };
        let sign = self.asked_at + SIGN_FRAMES * self.frames().frame_ns;
        if asks.is_empty() && !self.is_refused && now < sign {
            return self.repair();
        }
        self.asked_at = now;
        Some(self.claim(asks, progress))
    }

    /// Claims nothing, but hears whether the store has forgotten something.
    pub(crate) fn sign(&mut self, progress: &str) -> Request {
        self.claim(Vec::new(), progress)
    }

    fn claim(&mut self, asks: Vec<Ask>, progress: &str) -> Request {
        self.sequence += 1;
        Request::Claim(Claim {
            id: self.run.id.clone(),
            node: self.node,
            sequence: self.sequence,
            answered: self.answered,
            epoch: self.run.epoch,
            versions: self.run.versions.len() as u64,
            roster: self.run.roster.version,
            progress: progress.to_owned(),
            asks,
        })
    }

    /// What the store has to be told, so that it knows what this node has.
    pub(crate) fn repair(&mut self) -> Option<Request> {
        if self.urgent.is_some() || self.unmarked.is_empty() {
            return self.urgent.clone();
        }
        self.sequence += 1;
        let pieces = self.unmarked.iter().take(MARKED).cloned().collect();
        let (id, node, sequence) = (self.run.id.clone(), self.node, self.sequence);
        let (answered, epoch) = (self.answered, self.run.epoch);
        Some(Request::Mark { id, node, sequence, answered, epoch, pieces })
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
        let is_open = |entry: &&Entry| now < self.frames().closes(entry.frame);
        let is_missed = |entry: &&Entry| {
            entry.tracks.is_none()
                || (entry.stage != Stage::Done && now < self.frames().begins(entry.frame))
        };
        let entries = self.book.entries().filter(|entry| is_open(entry) || is_missed(entry));
        let due = entries.filter(|entry| self.due_at(entry.frame, entry.stage, is_late) <= now);
        due.map(|entry| Ask {
            frame: entry.frame,
            take: match self.take(entry.frame, entry.stage) {
                Take::Own { .. } | Take::Share { .. } if !is_open(&entry) => Take::Missed,
                take => take,
            },
        })
        .collect()
    }

    /// When a frame's stage is due; [`u64::MAX`] is never.
    fn due_at(&self, frame: u64, stage: Stage, is_late: bool) -> u64 {
        let before =
            |frames: u64| self.frames().begins(frame.saturating_sub(frames)) + self.delay();
        match stage {
            Stage::Own => before(LEAD),
            Stage::Share | Stage::Rest if is_late => before(1) + self.frames().frame_ns / 8,
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
    fn take(&self, frame: u64, stage: Stage) -> Take {
        if frame < self.resumes {
            return Take::Nothing;
        }
        let (rank, nodes) = self.run.roster.rank(self.node);
        match stage {
            Stage::Own => {
                let own = self.frames().own(frame, rank, nodes).len();
                Take::Own { rank, nodes, most: (self.appetite * own as f64).ceil() as u32 }
            }
            Stage::Share => Take::Share { nodes },
            Stage::Rest => Take::Share { nodes: 1 },
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
        let closes = unknown.map(|entry| self.frames().closes(entry.frame));
        let closes = closes.filter(|&closes| closes > now).min();
        asks.max(self.asks_from).min(closes.unwrap_or(u64::MAX))
    }

    /// The store has not answered.
    pub(crate) fn failed(&mut self, now: u64) {
        self.asks_from = now + RETRY_NS;
        self.is_unanswered = true;
    }

    /// The store has answered a claim by a clock that has been set: that is no answer, and asking again
    /// at once does not help. When the run began by that clock is news.
    pub(crate) fn refused(&mut self, claimed: &Claimed, now: u64) {
        if self.run.origin_us != claimed.origin_us {
            (self.run.origin_us, self.run.epoch) = (claimed.origin_us, claimed.epoch);
        }
        (self.is_unanswered, self.is_refused) = (true, true);
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
        let is_mark = matches!(request, Request::Mark { .. });
        self.is_unanswered &= is_mark || self.is_refused;
        match (request, answer) {
            (_, Answer::Gone) => self.restore(),
            (_, Answer::Other) => self.over = Some(FleetError::Replaced),
            (Request::Claim(claim), Answer::Claimed(claimed)) => {
                self.claimed(claim, claimed, now)?;
            }
            (Request::Mark { pieces, sequence, .. }, Answer::Pieces(clashes)) => {
                self.answered = *sequence;
                self.unmarked.drain(..pieces.len().min(self.unmarked.len()));
                for clash in clashes {
                    self.clash(&clash, now);
                }
            }
            (Request::Restore { .. } | Request::Rebase { .. }, _) => self.urgent = None,
            _ => {}
        }
        Ok(())
    }

    /// Tracks belong to others: it does not run them, if that can be helped.
    fn clash(&mut self, clash: &Piece, now: u64) {
        let is_in_time = now < self.frames().closes(clash.frame);
        match self.book.entry(clash.frame).and_then(|entry| entry.tracks.as_mut()) {
            Some(tracks) if is_in_time => {
                *tracks = tracks.iter().filter(|&track| !clash.tracks.contains(track)).collect();
            }
            _ => self.clashes += self.load.slots(clash.frame, &clash.tracks),
        }
    }

    fn claimed(&mut self, claim: &Claim, claimed: Claimed, now: u64) -> Result<(), FleetError> {
        let knows_less = claimed.known < self.run.versions.len() as u64;
        // A new epoch without another origin: somebody has filled the store again.
        let is_refilled = claimed.epoch > self.run.epoch && claimed.origin_us == self.run.origin_us;
        let is_repaired = is_refilled && !knows_less;
        self.answered = claim.sequence;
        (self.is_unanswered, self.is_refused) = (false, false);
        self.run.origin_us = claimed.origin_us;
        self.run.state = claimed.state;
        self.run.floor = claimed.floor;
        self.run.epoch = self.run.epoch.max(claimed.epoch);
        if is_repaired {
            self.mark_all();
        }
        if knows_less {
            self.restore();
        }
        let known_until = claimed.versions.first().map_or(u64::MAX, |version| version.from);
        let is_known = |frame: u64| frame < known_until;
        // The store grants nothing to a node that has missed more than one version.
        let is_granted = claimed.versions.len() <= 1 && !knows_less;
        let asks = if is_granted { &claim.asks[..] } else { &[] };
        for (ask, owners) in asks.iter().zip(claimed.owners) {
            if is_known(ask.frame) {
                self.owned(*ask, &owners, now);
            }
        }
        if let Some(roster) = claimed.roster {
            self.run.roster = roster;
        }
        self.change_load(claimed.versions, now)?;
        self.blind.ended();
        Ok(())
    }

    /// The owners of a frame that it has asked for.
    fn owned(&mut self, ask: Ask, owners: &Owners, now: u64) {
        let own = owners.of(self.node);
        let is_closed = now >= self.frames().closes(ask.frame);
        let is_below = ask.frame < self.run.floor;
        let partition = self.partition(ask.frame);
        let Some(entry) = self.book.entry(ask.frame) else { return };
        if is_below && entry.tracks.is_none() {
            // Nobody can claim it, so each node has its own.
            let tracks: Tracks = partition.iter().chain(own.iter()).collect();
            return self.runs_blind(ask.frame, tracks, Stage::Done);
        }
        if entry.tracks.is_none() && own.is_empty() && is_closed && ask.take != Take::Missed {
            // It may have come too late.
            return;
        }
        let known = entry.tracks.clone().unwrap_or_default();
        if known.iter().any(|track| !own.contains(track)) && !entry.is_told {
            entry.is_told = true;
            self.unmarked.push_back(Piece { frame: ask.frame, tracks: known.clone() });
        }
        entry.stage = match ask.take {
            Take::Own { .. } => Stage::Share,
            Take::Share { .. } if entry.stage == Stage::Share => Stage::Rest,
            _ => Stage::Done,
        };
        entry.tracks = Some(known.iter().chain(own.iter()).collect());
    }

    /// The load has other versions, the first of them from a frame on.
    fn change_load(&mut self, versions: Vec<Version>, now: u64) -> Result<(), FleetError> {
        let Some(from) = versions.first().map(|version| version.from) else { return Ok(()) };
        let next = self.frames().at(now + self.frames().frame_ns / 8) + 1;
        self.cut = Some(self.load.first(from.max(next)));
        // What was run there by the old shape is not what the load has there.
        let strays = self.book.take_back(from, next);
        self.strays +=
            strays.iter().map(|piece| self.load.slots(piece.frame, &piece.tracks)).sum::<u64>();
        let come_to = if strays.is_empty() { 0 } else { self.load.first(next) };
        self.unmarked.retain(|piece| !(from..next).contains(&piece.frame));
        for version in versions {
            self.load.set(&version)?;
            self.run.versions.push(version);
        }
        self.book.forget_leases(from.max(next));
        self.resumes = (next..next + SITS_OUT)
            .find(|&frame| self.load.first(frame) >= come_to)
            .unwrap_or(next + SITS_OUT);
        self.is_told_of_end = false;
        self.book.cut(self.end());
        Ok(())
    }

    fn partition(&self, frame: u64) -> Tracks {
        if frame < self.resumes {
            return Tracks::default();
        }
        let (rank, nodes) = self.run.roster.rank(self.node);
        self.frames().own(frame, rank, nodes)
    }

    /// The store does not know what this node knows: it is told all of it.
    fn restore(&mut self) {
        self.urgent = Some(Request::Restore { node: self.node, run: Box::new(self.run.clone()) });
        self.mark_all();
    }

    /// The store is told all that this node has, because it may not know it any more.
    fn mark_all(&mut self) {
        self.unmarked.clear();
        self.clashes = 0;
        self.book.tell_known();
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

    /// It runs these tracks of a frame, and the store does not know it.
    fn runs_blind(&mut self, frame: u64, tracks: Tracks, stage: Stage) {
        self.blind_frames += 1;
        if !tracks.is_empty() {
            self.unmarked.push_front(Piece { frame, tracks: tracks.clone() });
        }
        if let Some(entry) = self.book.entry(frame) {
            (entry.tracks, entry.stage, entry.is_told) = (Some(tracks), stage, true);
        }
    }

    /// Decides what becomes of frames that begin soon and that no answer has come for. The next
    /// request takes up to `patience_ns` if the store does not answer. A node whose store answers
    /// has not asked in time, because it was frozen or its thread not run: it still can.
    pub(crate) fn settle(&mut self, now: u64, patience_ns: u64) {
        let frames = self.frames();
        let latest = if self.is_unanswered { now + patience_ns } else { now };
        let oldest = frames.at(now).saturating_sub(MISSED);
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let closed = unknown.map(|entry| entry.frame).filter(|&frame| {
            frames.closes(frame) <= latest && (self.is_unanswered || frame < oldest)
        });
        for frame in closed.collect::<Vec<u64>>() {
            // Others have claimed what was free in frames that have begun. But one that is blind
            // already may be a little late.
            let begins = frames.begins(frame);
            let grace = self.blind.since().map_or(0, |_| frames.begins(LEAD));
            let is_blind = now < begins + grace && self.blind.goes_on(begins);
            if is_blind {
                // If the store is back in time, there may be more.
                let tracks = self.partition(frame);
                self.runs_blind(frame, tracks, Stage::Share);
            } else if let Some(entry) = self.book.entry(frame) {
                (entry.tracks, entry.stage) = (Some(Tracks::default()), Stage::Done);
            }
        }
        if self.blind.stops(now) {
            self.over.get_or_insert(FleetError::Lost);
        }
    }

    /// The pacer has nothing from this slot on, before it is told of another load.
    pub(crate) fn cut(&mut self) -> Option<u64> {
        self.cut.take()
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
            // Behind the end of the load there is nothing to give up.
            self.is_told_of_end |= change.frame >= self.book.next();
            return self.book.give_up(change.frame);
        }
        self.book.leased(change.frame);
        self.is_told_of_end |= change.frame + change.leases.len() as u64 > self.end();
    }

    /// The change by which it takes part no more from a frame on for which others still ask.
    pub(crate) fn last_change(&mut self, now: u64) -> Change {
        let frame = self.frames().at(now + self.frames().frame_ns / 2) + 2;
        // A pacer that has come further by an old load takes nothing before that.
        let slot = self.load.first(frame.max(self.resumes));
        Change { frame, slot, leases: vec![Lease::nothing(u64::MAX)] }
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
