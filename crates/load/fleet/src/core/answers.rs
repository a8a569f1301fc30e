//! Handles the store's responses, and requests that were not answered.

use super::{Core, LastReply};
use crate::error::FleetError;
use crate::frame_window::Stage;
use crate::message::{Answer, Ask, Claim, Claimed, Portion, Request, State, Take};
use crate::track_ownership::{Owners, TrackSet};

const RETRY_NS: u64 = 5_000_000;

/// The number of round trips that a node needs, after it has got its own tracks of a frame, to get the tracks that
/// other nodes leave.
const REST_TRIPS: u64 = 2;

impl Core {
    pub(crate) fn hears_no_answer(&mut self, now: u64) {
        self.sent_at = None;
        self.trips.failed();
        self.asks_from = now + RETRY_NS;
        if self.last_reply == LastReply::Answer {
            self.last_reply = LastReply::Nothing;
        }
    }

    /// Records that the node has rejected a response, because the store's clock is off by more than a frame. An
    /// immediate retry would not help. The node's claims are empty until it accepts a response to a claim.
    pub(crate) fn refuses_answer(&mut self, now: u64) {
        self.sent_at = None;
        self.last_reply = LastReply::Refused;
        self.asks_from = now + self.frames().frame_ns;
    }

    pub(crate) fn hears_answer(
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
            (Request::Claim(claim), Answer::Claimed(answer)) => {
                self.hears_claimed(claim, answer, now)?;
            }
            (Request::Mark { portions, sequence, .. }, Answer::Portions(counted, clashes)) => {
                self.last_answered = *sequence;
                self.unclaimed.marked(portions, counted);
                for clash in clashes {
                    self.clash(&clash, now);
                }
            }
            (Request::Count { .. }, Answer::Counted(counted)) => {
                self.take_counted(&counted);
            }
            (Request::Restore { .. }, _) => self.urgent = None,
            _ => {} // the responses to a leave and a finish change nothing
        }
        Ok(())
    }

    fn hears_reply(&mut self, request: &Request, trip_ns: u64) {
        // The time of a round trip that began before a stall of the node includes the stall, so it does not count.
        if self.sent_at.take().is_none_or(|sent_at| sent_at >= self.woke_at) {
            self.trips.took(trip_ns);
        }
        self.asks_from = 0;
        // The response to a mark does not return the owners. The claim that returns them may have to wait for other
        // marks, and may then be too late, so the node may still have to decide alone.
        let is_mark = matches!(request, Request::Mark { .. });
        if self.last_reply == LastReply::Nothing && !is_mark {
            self.last_reply = LastReply::Answer;
        }
    }

    /// Records that other nodes own the tracks of `clash`, which this node runs or has run.
    pub(super) fn clash(&mut self, clash: &Portion, now: u64) {
        let is_in_time = now < self.frames().sealed_at(clash.frame);
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

    fn hears_claimed(
        &mut self,
        claim: &Claim,
        answer: Claimed,
        now: u64,
    ) -> Result<(), FleetError> {
        self.hears_store(answer.epoch, now);
        (self.last_answered, self.last_reply) = (claim.sequence, LastReply::Answer);
        let store_knows_less = self.hears_of_run(&answer);
        let new = self.new_versions(&answer);
        // If a node has missed more than one version, the store grants it nothing.
        if answer.versions.len() <= 1 && !store_knows_less {
            // From this frame on, the new load differs from the load for which the node made the claim.
            let changed_from = self.changed_from(&new);
            for (ask, owners) in claim.asks.iter().zip(&answer.owners) {
                if ask.frame < changed_from {
                    self.hears_owners(*ask, owners, now);
                }
            }
        }
        if let Some(roster) = answer.roster {
            self.run.heard.extend(&roster.nodes);
            self.run.roster = roster;
        }
        self.change_load(new, now)?;
        self.blind.ended();
        Ok(())
    }

    fn hears_of_run(&mut self, answer: &Claimed) -> bool {
        let has_counted = answer.counted.as_ref().is_none_or(|counted| self.take_counted(counted));
        let store_knows_less = answer.known < self.run.versions.len() as u64 || !has_counted;
        let is_refilled = answer.epoch > self.run.epoch;
        self.run.state = answer.state;
        self.run.floor = answer.floor;
        self.run.lead = answer.lead;
        self.run.epoch = self.run.epoch.max(answer.epoch);
        if store_knows_less {
            self.restore();
        } else if is_refilled {
            self.mark_all();
        }
        store_knows_less
    }

    fn hears_owners(&mut self, ask: Ask, owners: &Owners, now: u64) {
        let owned = owners.of(self.node);
        if self.is_below_floor(ask.frame) {
            // Claims of this frame are rejected, so each node runs its own tracks.
            let tracks: TrackSet = self.own(ask.frame).iter().chain(owned.iter()).collect();
            return self.runs_blind(ask.frame, tracks);
        }
        let asks_again = self.has_to_ask_again(ask, owners, now);
        let all = self.all_that_is_left();
        let Some(entry) = self.book.entry(ask.frame) else { return };
        if asks_again {
            // Another attempt before this time would probably fail, because the frame may have to become claimable or
            // be sealed first.
            self.asks_from = now + RETRY_NS;
            if entry.tracks.is_none() {
                entry.granted = owned;
                return;
            }
        } else {
            // The stage is already `Done` if the node decided about the frame without a response.
            entry.stage = entry.stage.max(match ask.take {
                Take::Own { .. } => Stage::Share,
                Take::Share { .. } if ask.take != all => Stage::Rest,
                _ => Stage::Done,
            });
        }
        let known = entry.tracks.clone().unwrap_or_default();
        if known.iter().any(|track| !owned.contains(track)) && !entry.is_marked {
            entry.is_marked = true;
            self.unclaimed.to_mark.push_back(Portion { frame: ask.frame, tracks: known.clone() });
        }
        entry.tracks = Some(known.iter().chain(owned.iter()).collect());
    }

    /// Returns whether tracks that the node needs are free and one of two conditions holds:
    ///
    /// * The claim took nothing, because it arrived too early or too late.
    /// * It is too late to ask in stages, and the pacer has no leases of the frame. The node can then get free tracks
    ///   even after the frame has been sealed.
    fn has_to_ask_again(&mut self, ask: Ask, owners: &Owners, now: u64) -> bool {
        let (frames, owned) = (self.frames(), owners.of(self.node));
        // A leaving node does not wait for the tracks that other nodes leave, so one more round trip is enough.
        let trips = if self.is_leaving { 1 } else { REST_TRIPS };
        let next_answer = now + trips * self.trips.last_ns();
        let is_too_late =
            now >= frames.sealed_at(ask.frame) || next_answer >= frames.begins(ask.frame);
        let first = self.run.floor.max(self.run.counted.until);
        let Some(entry) = self.book.entry(ask.frame) else { return false };
        let known = entry.tracks.clone().unwrap_or_default();
        let has_got_nothing = owned.iter().all(|track| known.contains(track));
        let needs_all = is_too_late && !entry.is_leased();
        let needs = match ask.take {
            Take::Nothing => TrackSet::default(),
            Take::Own { rank, nodes, .. } if !needs_all => frames.own(ask.frame, rank, nodes),
            _ => frames.all(),
        };
        (needs_all || has_got_nothing)
            && ask.frame >= first
            && self.run.state == State::Running
            && needs.iter().any(|track| owners.is_free(track))
    }

    fn is_below_floor(&mut self, frame: u64) -> bool {
        let entry = self.book.entry(frame);
        frame < self.run.floor && entry.is_some_and(|entry| entry.tracks.is_none())
    }

    fn restore(&mut self) {
        self.urgent = Some(Request::Restore { node: self.node, run: Box::new(self.run.clone()) });
        self.mark_all();
    }

    /// Makes the node mark all tracks that it has or has run, because the store may have lost them.
    pub(super) fn mark_all(&mut self) {
        self.book.mark_known();
        let portions = self.book.past().portions().chain(self.book.portions());
        self.unclaimed.mark_all(portions);
    }
}
