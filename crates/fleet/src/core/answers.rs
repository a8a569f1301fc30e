//! What answers change.

use super::{Core, Cut, Heard};
use crate::book::Stage;
use crate::error::FleetError;
use crate::load::Load;
use crate::message::{Answer, Ask, Claim, Claimed, Piece, Request, Take, Version};
use crate::owners::Owners;
use crate::tracks::Tracks;
use std::mem;

/// After an error a node asks again so much later.
const RETRY_NS: u64 = 5_000_000;

impl Core {
    /// The store has not answered.
    pub(crate) fn failed(&mut self, now: u64) {
        self.waits = None;
        self.trips.failed();
        self.asks_from = now + RETRY_NS;
        if self.heard == Heard::Answer {
            self.heard = Heard::Nothing;
        }
    }

    /// The store has answered a claim by a clock that has been set: that is no answer, and asking again
    /// at once does not help. When the run began by that clock is news.
    pub(crate) fn refused(&mut self, claimed: &Claimed, now: u64) {
        if self.run.origin_us != claimed.origin_us {
            (self.run.origin_us, self.run.epoch) = (claimed.origin_us, claimed.epoch);
        }
        self.waits = None;
        self.heard = Heard::Refused;
        self.asks_from = now + self.frames().frame_ns;
    }

    /// The answer to the last request.
    pub(crate) fn answered(
        &mut self,
        request: &Request,
        answer: Answer,
        trip_ns: u64,
        now: u64,
    ) -> Result<(), FleetError> {
        (self.asks_from, self.waits) = (0, None);
        self.trips.took(trip_ns);
        // From a mark it does not know who owns what, and its next claim may come too late.
        let is_mark = matches!(request, Request::Mark { .. });
        if self.heard == Heard::Nothing && !is_mark {
            self.heard = Heard::Answer;
        }
        match (request, answer) {
            (_, Answer::Gone) => self.restore(),
            (_, Answer::Other) => self.over = Some(FleetError::Replaced),
            (Request::Claim(claim), Answer::Claimed(claimed)) => {
                self.claimed(claim, claimed, now)?;
            }
            (Request::Mark { pieces, sequence, .. }, Answer::Pieces(counted, clashes)) => {
                self.answered = *sequence;
                self.unmarked.drain(..pieces.len().min(self.unmarked.len()));
                for Piece { frame, .. } in pieces {
                    let slots = self.unsaid.remove(frame).filter(|_| *frame < counted);
                    self.strays += slots.unwrap_or(0);
                }
                for clash in clashes {
                    self.clash(&clash, now);
                }
            }
            (Request::Count { .. }, Answer::Counted(counted)) => {
                self.take_counted(&counted);
            }
            (Request::Restore { .. } | Request::Rebase { .. }, _) => self.urgent = None,
            _ => {}
        }
        Ok(())
    }

    /// Tracks belong to others: it does not run them, if that can be helped.
    pub(super) fn clash(&mut self, clash: &Piece, now: u64) {
        let is_in_time = now < self.frames().closes(clash.frame);
        match self.book.entry(clash.frame).and_then(|entry| entry.tracks.as_mut()) {
            Some(tracks) if is_in_time => {
                *tracks = tracks.iter().filter(|&track| !clash.tracks.contains(track)).collect();
            }
            _ => {
                let ran = self.book.ran(clash.frame).unwrap_or_default();
                let both = ran.iter().filter(|&track| clash.tracks.contains(track)).collect();
                let slots = self.load.slots(clash.frame, &both);
                *self.clashes.entry(clash.frame).or_default() += slots;
            }
        }
    }

    fn claimed(&mut self, claim: &Claim, claimed: Claimed, now: u64) -> Result<(), FleetError> {
        self.look_for_disturbance(claimed.epoch, now);
        let has_counted = claimed.counted.as_ref().is_none_or(|counted| self.take_counted(counted));
        let knows_less = claimed.known < self.run.versions.len() as u64 || !has_counted;
        // A new epoch without another origin: somebody has filled the store again.
        let is_refilled = claimed.epoch > self.run.epoch && claimed.origin_us == self.run.origin_us;
        let is_repaired = is_refilled && !knows_less;
        self.answered = claim.sequence;
        self.heard = Heard::Answer;
        self.run.origin_us = claimed.origin_us;
        self.run.state = claimed.state;
        self.run.floor = claimed.floor;
        self.run.lead = claimed.lead;
        self.run.epoch = self.run.epoch.max(claimed.epoch);
        if is_repaired {
            self.mark_all();
        }
        if knows_less {
            self.restore();
        }
        let (same, other) = self.other_versions(&claimed);
        let unknown = other.iter().chain(&self.run.versions[same..]);
        let known_until = unknown.map(|version| version.from).min().unwrap_or(u64::MAX);
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
            self.run.heard.extend(&roster.nodes);
            self.run.roster = roster;
        }
        self.change_load(same, other, now)?;
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
            return self.runs_blind(ask.frame, tracks);
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

    /// How many of its versions are the run's, and which ones come behind them. Another change may have been
    /// made in place of its last one.
    fn other_versions(&self, claimed: &Claimed) -> (usize, Vec<Version>) {
        let known = self.run.versions.len();
        let listed = usize::try_from(claimed.known).unwrap_or(usize::MAX);
        let start = listed.saturating_sub(claimed.versions.len()).min(known);
        let pairs = self.run.versions[start..].iter().zip(&claimed.versions);
        let same = pairs.take_while(|(own, other)| own == other).count();
        match &claimed.versions[same..] {
            [] => (known, Vec::new()),
            other => (start + same, other.to_vec()),
        }
    }

    /// Behind so many versions the load has these in place of its own, from a frame on.
    fn change_load(
        &mut self,
        same: usize,
        versions: Vec<Version>,
        now: u64,
    ) -> Result<(), FleetError> {
        let Some((first, later)) = versions.split_first() else { return Ok(()) };
        let replaced = self.run.versions.split_off(same);
        let from = replaced.first().map_or(first.from, |own| own.from.min(first.from));
        let before = if replaced.is_empty() { None } else { Some(Load::of(&self.run)?) };
        // What the pacer does not have it has not started, however late that is.
        let unleased = self.book.unleased().max(from);
        let next = (self.frames().at(now + self.frames().frame_ns / 2) + 1).min(unleased);
        let slot = self.load.first(from).max(self.load.slot_at(now).min(self.load.first(unleased)));
        let new = before.as_ref().unwrap_or(&self.load).changed(first)?;
        let new = later.iter().try_fold(new, |load, change| load.changed(change))?;
        let old = mem::replace(&mut self.load, new);
        self.cut = Some(Cut { slot, pieces: self.book.take_back(from, next), old, next });
        self.clashes.retain(|&frame, _| frame < from);
        self.unsaid.retain(|&frame, _| frame < from);
        self.unmarked.retain(|piece| !(from..next).contains(&piece.frame));
        self.run.versions.extend(versions);
        self.run.ends = self.load.end();
        self.is_told_of_end = false;
        self.book.cut(self.end());
        Ok(())
    }

    /// The store does not know what this node knows: it is told all of it.
    fn restore(&mut self) {
        self.urgent = Some(Request::Restore { node: self.node, run: Box::new(self.run.clone()) });
        self.mark_all();
    }

    /// The store is told all that this node has, because it may not know it any more.
    pub(super) fn mark_all(&mut self) {
        self.unmarked.clear();
        self.clashes.clear();
        self.book.tell_known();
        self.unmarked.extend(self.book.past().pieces());
        self.unmarked.extend(self.book.pieces(0));
    }

    /// The store's clock has been set by so much.
    pub(crate) fn step(&mut self, step_us: i64) {
        let (id, from_us) = (self.run.id.clone(), self.run.origin_us);
        self.urgent = Some(Request::Rebase { id, from_us, to_us: from_us + step_us });
    }
}
