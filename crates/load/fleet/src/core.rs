//! Decides what a node does and when, without threads, clocks and connections. A [`Core`] gets the time and the store's
//! responses. It returns the next request to the store, and the slots that the node's pacer may start.
//!
//! A *frame* is a short part of the schedule. A *track* is every n-th slot of a frame, where n is 16 or more. A
//! [`Portion`] is a set of tracks of one frame. A node *claims* tracks at the store before their frame is *sealed*. If
//! the store's response is late, the node decides alone. It is then *blind*: it runs its own tracks according to the
//! roster, and reports them to the store (*marks* them) as soon as it can. Frames that are old enough are *counted*:
//! the store and the nodes keep only the number of slots of each owner, and forget which track had which owner.
//!
//! All times are measured from the beginning of the run, in nanoseconds. `docs/FLEET-PROTOCOL.md` explains the terms.

use crate::error::FleetError;
use crate::frame_window::{FrameWindow, Stage};
use crate::frames::{Frames, LEAD};
use crate::load::Load;
use crate::message::{FleetRun, Portion, Request};
use crate::progress::Progress;
use crate::round_trips::RoundTrips;
use crate::store_outage::StoreOutage;
use crate::track_ownership::{NodeId, TrackSet};
use cut::Cut;
use nanopace::driver::Lease;
use std::time::Duration;
use unclaimed::Unclaimed;

mod answers;
mod asks;
mod counts;
mod cut;
mod moments;
#[cfg(test)]
pub(crate) mod tests;
mod unclaimed;
mod versions;

/// If the node's thread has not run for this time plus half a frame, it counts as stalled.
const STALL_NS: u64 = 30_000_000;

const MISSED_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Core {
    node: NodeId,
    run: FleetRun,
    load: Load,
    book: FrameWindow,
    unclaimed: Unclaimed,
    blind: StoreOutage,
    blind_frames: u64,

    is_lagging: bool,
    is_leaving: bool,
    /// The share of its own tracks that the node claims. It is below 1 while the node lags and for some frames after
    /// that.
    appetite: f64,

    sequence: u64,
    last_answered: u64,
    sent_at: Option<u64>,
    last_reply: LastReply,
    trips: RoundTrips,
    asks_from: u64,
    /// The time at which [`request`](Core::request) last returned a claim, perhaps an empty one.
    asked_at: u64,
    urgent: Option<Request>,

    awake_at: u64,
    woke_at: u64,
    /// The time at which the node began to wait for a response about frames that it has missed.
    missed_since: Option<u64>,
    heard_at: u64,
    /// The last time at which the store responded again after a long outage, or its data was restored.
    disturbed_at: u64,

    cut: Option<Cut>,
    /// The slot that the pacer had reached under an old load when the load was changed.
    reached_slot: u64,
    /// The first frame in which a node that sits out takes part again.
    resumes_in: u64,

    leaves_in: Option<u64>,
    is_told_of_end: bool,
    failure: Option<FleetError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastReply {
    Answer,
    Nothing,
    /// The node rejected the response, because the store's clock was off by more than a frame.
    Refused,
}

#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) frame: u64,
    pub(crate) slot: u64,
    /// One lease for each frame. If the leases reach the end of the node's part of the load, and its last frame has
    /// been sealed, an empty lease follows.
    pub(crate) leases: Vec<Lease>,
    /// Whether the pacer may apply the leases from a slot later than `slot`, if it has already started `slot` or later
    /// slots. This is allowed if the node has no tracks from `frame` on.
    pub(crate) may_begin_later: bool,
}

impl Core {
    pub(crate) fn new(
        node: NodeId,
        run: FleetRun,
        (blind, trips): (StoreOutage, RoundTrips),
        now: u64,
    ) -> Result<Core, FleetError> {
        let load = Load::of(&run)?;
        let first = run.frames.at(now) + 1;
        Ok(Core {
            node,
            load,
            book: FrameWindow::new(first, run.frames),
            run,
            unclaimed: Unclaimed::default(),
            blind,
            blind_frames: 0,
            is_lagging: false,
            is_leaving: false,
            appetite: 1.0,
            sequence: 0,
            last_answered: 0,
            sent_at: None,
            last_reply: LastReply::Answer,
            trips,
            asks_from: 0,
            asked_at: 0,
            urgent: None,
            awake_at: now,
            woke_at: 0,
            missed_since: None,
            heard_at: now,
            disturbed_at: now,
            cut: None,
            reached_slot: 0,
            resumes_in: 0,
            leaves_in: None,
            is_told_of_end: false,
            failure: None,
        })
    }

    pub(crate) fn run(&self) -> &FleetRun {
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

    pub(crate) fn progress(&self, now: u64) -> Progress {
        Progress {
            twice: self.twice(),
            blind_ns: self.blind.since().map_or(0, |since| now.saturating_sub(since)),
            unmarked: self.unclaimed.unconfirmed_slots(),
            limit_ns: self.blind.limit_ns(),
            members: self.run.roster.rank(self.node).1,
            versions: self.run.versions.len() as u64,
            change: self.run.change(),
            told_ns: now,
            ..Progress::default()
        }
    }

    pub(crate) fn blind_since(&self) -> Option<u64> {
        self.blind.since()
    }

    pub(crate) fn blind_frames(&self) -> u64 {
        self.blind_frames
    }

    pub(crate) fn twice(&self) -> u64 {
        self.unclaimed.twice()
    }

    pub(crate) fn due_slots(&mut self, now: u64) -> u64 {
        self.book.due_slots(now, self.frames().at(now), &mut self.load)
    }

    pub(crate) fn failure(&self) -> Option<&FleetError> {
        self.failure.as_ref()
    }

    pub(crate) fn has_marked_all(&self) -> bool {
        self.unclaimed.to_mark.is_empty() && self.urgent.is_none()
    }

    fn end(&self) -> u64 {
        let ends = [self.load.end(), self.leaves_in];
        ends.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn own(&self, frame: u64) -> TrackSet {
        if frame < self.resumes_in {
            return TrackSet::default();
        }
        let (rank, nodes) = self.run.roster.rank(self.node);
        self.frames().own(frame, rank, nodes)
    }

    /// Records that the node runs these tracks without a claim. The node claims no more tracks of this frame, because
    /// other blind nodes may be running them.
    fn runs_blind(&mut self, frame: u64, tracks: TrackSet) {
        self.blind_frames += 1;
        if !tracks.is_empty() {
            let slots = self.load.slots(frame, &tracks);
            self.unclaimed.runs(Portion { frame, tracks: tracks.clone() }, slots);
        }
        if let Some(entry) = self.book.entry(frame) {
            (entry.tracks, entry.stage, entry.is_marked) = (Some(tracks), Stage::Done, true);
        }
    }

    pub(crate) fn decide(&mut self, now: u64) {
        if now > self.awake_at + STALL_NS + self.frames().frame_ns / 2 {
            self.woke_at = now;
        }
        self.awake_at = now;
        let first = self.undecided().next();
        self.missed_since = first.and_then(|first| {
            self.missed_since.or_else(|| self.is_missed(first, now).then_some(now))
        });
        if now >= self.decides_alone_at() {
            self.decide_alone(now);
        }
    }

    fn undecided(&self) -> impl Iterator<Item = u64> {
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let is_sealed = |&frame: &u64| self.frames().sealed_at(frame) <= self.awake_at;
        unknown.map(|entry| entry.frame).filter(is_sealed)
    }

    /// Decides about a frame without a response. The node runs only the granted tracks of the frame if it has been
    /// blind for too long, or if it had already missed the frame when it began to wait for a response.
    fn decide_alone(&mut self, now: u64) {
        let since = self.missed_since.take().unwrap_or(now);
        for frame in self.undecided().collect::<Vec<u64>>() {
            if !self.is_missed(frame, since) && self.blind.goes_on(self.frames().begins(frame)) {
                let granted = self.book.entry(frame).map(|entry| entry.granted.clone());
                let granted = granted.unwrap_or_default();
                let tracks = self.own(frame).iter().chain(granted.iter()).collect();
                self.runs_blind(frame, tracks);
            } else if let Some(entry) = self.book.entry(frame) {
                (entry.tracks, entry.stage) = (Some(entry.granted.clone()), Stage::Done);
            }
        }
        if self.blind.stops(now) {
            self.failure.get_or_insert(FleetError::Lost);
        }
    }

    /// Returns the time from which the node decides without a response; `u64::MAX` means never.
    ///
    /// * A node that has missed frames waits longer than usual, because other nodes may have started slots of these
    ///   frames, and a pacer cannot go back.
    /// * If the last request was not answered, or the node rejected its response, the node decides at once.
    /// * If the last request was answered and no request is pending, the node never decides alone, because it can still
    ///   ask. In this state, a frame can have been sealed only because the thread was stalled.
    ///
    /// When the thread wakes after a stall, it first gets time to read a response that may already have arrived.
    fn decides_alone_at(&self) -> u64 {
        if let Some(since) = self.missed_since {
            return since + MISSED_NS + self.patience_ns();
        }
        match self.last_reply {
            LastReply::Answer => self.sent_at.map_or(u64::MAX, |since| self.overdue_at(since)),
            LastReply::Nothing | LastReply::Refused => self.overdue_at(self.woke_at),
        }
    }

    fn overdue_at(&self, sent: u64) -> u64 {
        sent.max(self.woke_at) + self.trips.long_ns() + self.frames().frame_ns / 8
    }

    fn is_missed(&self, frame: u64, now: u64) -> bool {
        let grace = self.blind.since().map_or(1, |_| LEAD);
        self.frames().begins(frame + grace) <= now
    }

    pub(crate) fn sent(&mut self, now: u64) {
        self.sent_at = Some(now);
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.sent_at.is_some()
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_nanos(self.patience_ns())
    }

    fn patience_ns(&self) -> u64 {
        self.trips.patience_ns((LEAD + 1) * self.frames().frame_ns)
    }

    #[cfg(test)]
    pub(crate) fn rows(&self) -> usize {
        self.book.past().rows()
    }

    pub(crate) fn update(&mut self) -> Option<Update> {
        if let Some(frame) = self.book.changed() {
            return Some(self.update_from(frame));
        }
        let is_end =
            self.last_frame_is_sealed() && self.book.entries().all(|entry| entry.tracks.is_some());
        (is_end && !self.is_told_of_end).then(|| self.update_from(self.book.next()))
    }

    /// Returns whether the node's last frame has been sealed. Until then, the node may get tracks that another node
    /// gives back.
    fn last_frame_is_sealed(&self) -> bool {
        let end = self.end();
        self.book.next() >= end && self.awake_at >= self.frames().sealed_at(end.saturating_sub(1))
    }

    fn update_from(&mut self, frame: u64) -> Update {
        let mut leases = self.book.leases(frame, &mut self.load);
        if self.last_frame_is_sealed() && frame + leases.len() as u64 >= self.end() {
            leases.push(Lease::nothing(u64::MAX));
        }
        let may_begin_later = frame >= self.book.next();
        Update { frame, slot: self.load.first(frame), leases, may_begin_later }
    }

    #[cfg(test)]
    pub(crate) fn known(&self, update: &Update) -> Vec<(u64, TrackSet)> {
        let known = self.book.known(update.frame);
        known.map(|(frame, tracks)| (frame, tracks.clone())).collect()
    }

    /// Records whether the pacer has taken an update. If `is_taken` is false, the update was too late for its first
    /// frame. The node then gives up the tracks of that frame that the pacer does not have. If the pacer keeps tracks
    /// that the node has dropped, their slots count as started twice.
    pub(crate) fn told(&mut self, update: &Update, is_taken: bool) {
        if !is_taken {
            let others = self.book.give_up(update.frame);
            let slots = self.load.slots(update.frame, &others);
            return self.unclaimed.clash(update.frame, slots);
        }
        self.book.leased(update.frame);
        self.is_told_of_end = update.frame + update.leases.len() as u64 > self.end();
    }

    /// Returns the first frame in which a node that leaves now takes no part. Other nodes still have time to ask for
    /// its tracks of this frame.
    fn leaves_from(&self, now: u64) -> u64 {
        self.frames().at(now + self.frames().frame_ns / 2) + 3
    }

    pub(crate) fn last_update(&mut self, now: u64) -> Update {
        let frame = self.leaves_from(now);
        let (slot, leases) = (self.load.first(frame), vec![Lease::nothing(u64::MAX)]);
        // A node that sits out has no tracks in these frames, and its pacer may have started later slots under an old
        // load.
        Update { frame, slot, leases, may_begin_later: frame < self.resumes_in }
    }

    /// Makes the node leave, and returns the request. `last` is the [last update](Core::last_update), which the pacer
    /// has accepted.
    pub(crate) fn leave(&mut self, last: &Update) -> Request {
        // The store may have granted tracks that the node does not know of, so the node gives back all tracks.
        let portion = |frame| Portion { frame, tracks: self.frames().all() };
        let portions = (last.frame..self.book.next()).map(portion).collect();
        self.leaves_in = Some(last.frame);
        self.book.drop_from(last.frame);
        self.unclaimed.to_mark.retain(|portion| portion.frame < last.frame);
        self.is_told_of_end = true;
        Request::Leave { id: self.run.id.clone(), node: self.node, from: last.frame, portions }
    }

    /// Makes the node take no part from the next frame on. Call this when the node makes no more requests for frames.
    pub(crate) fn stop_claiming(&mut self, now: u64) {
        let from = self.frames().at(now) + 1;
        self.leaves_in = Some(self.leaves_in.map_or(from, |leaves_in| leaves_in.min(from)));
    }
}
