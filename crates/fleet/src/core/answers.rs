//! What follows from the answers of the store, and from their absence.

use super::{Core, LastReply};
use crate::book::Stage;
use crate::error::FleetError;
use crate::message::{Answer, Ask, Claim, Claimed, Piece, Request, Take};
use crate::owners::Owners;
use crate::tracks::Tracks;

/// How much later a node asks again after an error.
const RETRY_NS: u64 = 5_000_000;

impl Core {
    /// Hears that the store has not answered.
    pub(crate) fn failed(&mut self, now: u64) {
        self.sent_at = None;
        self.trips.failed();
        self.asks_from = now + RETRY_NS;
        if self.last_reply == LastReply::Answer {
            self.last_reply = LastReply::Nothing;
        }
    }

    /// Hears an answer to a claim by a clock that has been set. That is no answer, and asking again at once does
    /// not help. All that is kept of it are the new origin, when the run began by that clock, and its
    /// epoch.
    pub(crate) fn refused(&mut self, claimed: &Claimed, now: u64) {
        if self.run.origin_us != claimed.origin_us {
            (self.run.origin_us, self.run.epoch) = (claimed.origin_us, claimed.epoch);
        }
        self.sent_at = None;
        self.last_reply = LastReply::Refused;
        self.asks_from = now + self.frames().frame_ns;
    }

    /// Hears the answer to the last request.
    pub(crate) fn answered(
        &mut self,
        request: &Request,
        answer: Answer,
        trip_ns: u64,
        now: u64,
    ) -> Result<(), FleetError> {
        self.hears_reply(request, trip_ns);
        match (request, answer) {
            (_, Answer::Gone) => self.restore(),
            (_, Answer::Other) => self.failure = Some(FleetError::Replaced),
            (Request::Claim(claim), Answer::Claimed(claimed)) => {
                self.claimed(claim, claimed, now)?;
            }
            (Request::Mark { pieces, sequence, .. }, Answer::Pieces(counted, clashes)) => {
                self.answered = *sequence;
                self.unclaimed.marked(pieces, counted);
                for clash in clashes {
                    self.clash(&clash, now);
                }
            }
            (Request::Count { .. }, Answer::Counted(counted)) => {
                self.take_counted(&counted);
            }
            (Request::Restore { .. } | Request::Rebase { .. }, _) => self.urgent = None,
            _ => {} // nothing follows from the answers to a leave and a finish
        }
        Ok(())
    }

    /// Notes that the store has answered a request, whatever it says.
    fn hears_reply(&mut self, request: &Request, trip_ns: u64) {
        (self.asks_from, self.sent_at) = (0, None);
        self.trips.took(trip_ns);
        // The answer to a mark does not tell who owns what, and the next claim may come too late.
        let is_mark = matches!(request, Request::Mark { .. });
        if self.last_reply == LastReply::Nothing && !is_mark {
            self.last_reply = LastReply::Answer;
        }
    }

    /// Drops tracks that others own if there is time, and otherwise counts them as started twice.
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
                self.unclaimed.clash(clash.frame, slots);
            }
        }
    }

    /// The answer to a claim: what the run has become, and who owns the frames that were asked for.
    fn claimed(&mut self, claim: &Claim, claimed: Claimed, now: u64) -> Result<(), FleetError> {
        self.hears_store(claimed.epoch, now);
        (self.answered, self.last_reply) = (claim.sequence, LastReply::Answer);
        let store_knows_less = self.hears_of_run(&claimed);
        let (same, other) = self.other_versions(&claimed);
        // The store grants nothing to a node that has missed more than one version.
        if claimed.versions.len() <= 1 && !store_knows_less {
            let unknown = other.iter().chain(&self.run.versions[same..]);
            let known_until = unknown.map(|version| version.from).min().unwrap_or(u64::MAX);
            // Behind that the load is not the one that the node has asked by.
            for (ask, owners) in claim.asks.iter().zip(&claimed.owners) {
                if ask.frame < known_until {
                    self.hears_owners(*ask, owners, now);
                }
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

    /// Hears what the run has become, except its load and its roster. A store that has forgotten something is
    /// told what this node knows. Returns whether the store knows less of the run than the node.
    fn hears_of_run(&mut self, claimed: &Claimed) -> bool {
        let has_counted = claimed.counted.as_ref().is_none_or(|counted| self.take_counted(counted));
        let store_knows_less = claimed.known < self.run.versions.len() as u64 || !has_counted;
        // A new epoch without another origin: somebody has filled the store again.
        let is_refilled = claimed.epoch > self.run.epoch && claimed.origin_us == self.run.origin_us;
        self.run.origin_us = claimed.origin_us;
        self.run.state = claimed.state;
        self.run.floor = claimed.floor;
        self.run.lead = claimed.lead;
        self.run.epoch = self.run.epoch.max(claimed.epoch);
        if store_knows_less {
            self.restore();
        } else if is_refilled {
            self.mark_all();
        }
        store_knows_less
    }

    /// Hears who owns a frame that it has asked for.
    fn hears_owners(&mut self, ask: Ask, owners: &Owners, now: u64) {
        let owned = owners.of(self.node);
        if self.is_below_floor(ask.frame) {
            // Nobody can claim the frame, so each node runs its own tracks.
            let tracks: Tracks = self.own(ask.frame).iter().chain(owned.iter()).collect();
            return self.runs_blind(ask.frame, tracks);
        }
        let is_closed = now >= self.frames().closes(ask.frame);
        let Some(entry) = self.book.entry(ask.frame) else { return };
        if entry.tracks.is_none() && owned.is_empty() && is_closed && ask.take != Take::Missed {
            // The claim may have come too late.
            return;
        }
        let known = entry.tracks.clone().unwrap_or_default();
        if known.iter().any(|track| !owned.contains(track)) && !entry.is_marked {
            entry.is_marked = true;
            self.unclaimed.to_mark.push_back(Piece { frame: ask.frame, tracks: known.clone() });
        }
        entry.stage = match ask.take {
            Take::Own { .. } => Stage::Share,
            Take::Share { .. } if entry.stage == Stage::Share => Stage::Rest,
            _ => Stage::Done,
        };
        entry.tracks = Some(known.iter().chain(owned.iter()).collect());
    }

    /// Whether nobody can claim a frame of which the node does not know what it has.
    fn is_below_floor(&mut self, frame: u64) -> bool {
        let entry = self.book.entry(frame);
        frame < self.run.floor && entry.is_some_and(|entry| entry.tracks.is_none())
    }

    /// Makes the node tell the store all that it knows of the run, which the store has forgotten.
    fn restore(&mut self) {
        self.urgent = Some(Request::Restore { node: self.node, run: Box::new(self.run.clone()) });
        self.mark_all();
    }

    /// Makes the node tell the store all that it has, which the store may have forgotten.
    pub(super) fn mark_all(&mut self) {
        self.book.mark_known();
        let pieces = self.book.past().pieces().chain(self.book.pieces());
        self.unclaimed.mark_all(pieces);
    }

    /// Lets the run begin at another moment of the store's clock, which has been set.
    pub(crate) fn clock_was_set(&mut self, step_us: i64) {
        let (id, from_us) = (self.run.id.clone(), self.run.origin_us);
        self.urgent = Some(Request::Rebase { id, from_us, to_us: from_us + step_us });
    }
}
