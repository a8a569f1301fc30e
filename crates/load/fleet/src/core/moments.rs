//! Decides when a node asks for a frame, and when it decides alone. These are the times before a frame begins:
//!
//! ```text
//!  lead         3         2         1    1/4  0   frames before it begins
//! ---|----------|---------|---------|-----|---|---->
//!    |    own      share      rest        |   |
//!    |     |         |         |          |   begins: the pacer starts its first slots
//!    |     |         |         |          sealed: only nodes that missed it can claim it now, and
//!    |     |         |         |            a node without a response decides alone
//!    |     |         |         the node asks for all that is left
//!    |     |         it asks for its part of the tracks that their owners have left
//!    |     it asks for its own tracks
//!    the store takes claims for it
//! ```
//!
//! `own`, `share` and `rest` are [`ahead_ns`](Core::ahead_ns) earlier than three, two and one frames before the frame
//! begins. Over a slow link, they are earlier than in the picture, but a node never asks for the tracks of other nodes
//! before the other nodes have had time to ask. A lagging node postpones `share` until two round trips before the
//! previous frame begins, and `rest` until half a frame after that, so that other nodes can take the tracks that are
//! not its own.

use super::Core;
use crate::frame_window::{Entry, Stage};
use crate::frames::LEAD;

/// A node that has made no claim for this number of frames sends an empty claim as a sign of life.
const SIGN_FRAMES: u64 = 5;

/// The minimum time between two claims of a node. It is short enough for the store's process to stay awake, or to keep
/// its caches warm, from one claim to the next. It is long enough for the claims to arrive in order.
const APART_NS: u64 = 250_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    own: u64,
    share: u64,
    rest: u64,
    pub(super) sealed_at: u64,
    begins: u64,
}

impl Moments {
    pub(super) fn asks_for(&self, stage: Stage) -> u64 {
        match stage {
            Stage::Own => self.own,
            Stage::Share => self.share,
            Stage::Rest => self.rest,
            Stage::Done => u64::MAX,
        }
    }
}

impl Core {
    pub(super) fn moments(&self, frame: u64) -> Moments {
        let (frames, stagger) = (self.frames(), self.stagger_ns());
        let frames_before = |count: u64| frames.begins(frame.saturating_sub(count));
        // The store accepts claims for a frame only from `lead` frames before it begins.
        let asks_before = |count: u64| {
            frames_before(count).saturating_sub(self.ahead_ns()).max(frames_before(self.run.lead))
        };
        let just_in_time = frames_before(1).saturating_sub(2 * self.trips.long_ns());
        let [share, rest] = if self.is_lagging {
            [just_in_time + stagger, just_in_time + frames.frame_ns / 2]
        } else {
            let after = |count: u64| asks_before(count - 1).max(frames_before(count)) + stagger;
            [after(LEAD), after(LEAD - 1)]
        };
        let (sealed_at, begins) = (frames.sealed_at(frame), frames.begins(frame));
        Moments { own: asks_before(LEAD) + stagger, share, rest, sealed_at, begins }
    }

    /// Returns the frames for which the node may ask. A frame of which the pacer has leases is left out if it has
    /// sealed, or if two round trips do not fit in before it begins, because the response would be too late. A claim
    /// that arrives too late for one of its frames would get nothing in its other frames either.
    pub(super) fn wanted_entries(&self, now: u64) -> impl Iterator<Item = (&Entry, Moments)> {
        let answered_at = now + 2 * self.trips.last_ns();
        let entries = self.book.entries().map(|entry| (entry, self.moments(entry.frame)));
        entries.filter(move |(entry, moments)| {
            !entry.is_leased() || (now < moments.sealed_at && answered_at < moments.begins)
        })
    }

    /// Returns the first frame for which it is too early to ask. A node asks slightly later than the store allows,
    /// because clocks differ, and because the nodes ask one after the other.
    pub(super) fn first_not_asked_for(&self, now: u64) -> u64 {
        let now = now.saturating_sub(self.stagger_ns());
        self.run.first_unopened(now).min(self.frames().at(now + self.ahead_ns()) + LEAD + 1)
    }

    /// Returns the time by which the node asks earlier than [`LEAD`] frames before a frame begins. It consists of two
    /// round trips, because the previous request may have to be answered first, and half a frame, because round trips
    /// may become longer.
    pub(super) fn ahead_ns(&self) -> u64 {
        2 * self.trips.long_ns() + self.frames().frame_ns / 2
    }

    fn stagger_ns(&self) -> u64 {
        let (rank, nodes) = self.run.roster.rank(self.node);
        let sixteenth = self.frames().frame_ns / 16;
        let apart = (2 * sixteenth / u64::from(nodes.max(1))).min(APART_NS);
        sixteenth + apart * u64::from(rank)
    }

    pub(crate) fn due(&self, now: u64) -> u64 {
        self.asks_next_at(now).min(self.decides_next_at(now))
    }

    fn asks_next_at(&self, now: u64) -> u64 {
        if self.sent_at.is_some() || self.is_replaced() {
            return u64::MAX;
        }
        let marks = if self.has_marked_all() { u64::MAX } else { now };
        if self.failure.is_some() {
            return marks.max(self.asks_from);
        }
        let next = self.first_not_asked_for(now).max(self.book.next());
        let claimable = if next < self.end() { self.moments(next).own } else { u64::MAX };
        let wanted = self.wanted_entries(now);
        let stages = wanted.map(|(entry, moments)| moments.asks_for(entry.stage));
        let first = stages.chain([claimable, marks]).fold(self.sign_at(), u64::min);
        first.max(self.asks_from)
    }

    fn decides_next_at(&self, now: u64) -> u64 {
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let alone = self.decides_alone_at();
        let decides = unknown.map(|entry| self.frames().sealed_at(entry.frame).max(alone));
        let ends = self.frames().sealed_at(self.end().saturating_sub(1));
        decides.chain([ends]).filter(|&at| at > now).min().unwrap_or(u64::MAX)
    }

    pub(super) fn sign_at(&self) -> u64 {
        self.asked_at + SIGN_FRAMES * self.frames().frame_ns
    }
}
