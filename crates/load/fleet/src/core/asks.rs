//! Builds the requests to the store. `moments` decides when they are made.

use super::{Core, LastReply};
use crate::error::FleetError;
use crate::frame_window::{Entry, Stage};
use crate::frames::LEAD;
use crate::message::{Ask, Claim, Portion, Request, Take};

const MOST_MARKED: usize = 64;

const MOST_ASKED: usize = 64;

impl Core {
    /// Returns the next request. `is_lagging` is true if the node's oldest slot is more than a frame late.
    pub(crate) fn request(
        &mut self,
        now: u64,
        is_lagging: bool,
        progress: &str,
    ) -> Option<Request> {
        self.is_lagging = is_lagging;
        self.advance(now);
        if self.sent_at.is_some() || now < self.asks_from || self.is_replaced() {
            return None;
        }
        if self.repairs_first(now) {
            return self.next_repair();
        }
        let asks = self.asks(now);
        let is_refused = self.last_reply == LastReply::Refused;
        if asks.is_empty() && !is_refused && now < self.sign_at() {
            return self.next_repair().or_else(|| self.count(now));
        }
        self.asked_at = now;
        Some(self.claim(asks, progress))
    }

    pub(super) fn is_replaced(&self) -> bool {
        matches!(self.failure, Some(FleetError::Replaced))
    }

    /// Returns whether the node sends a repair before a claim. A node that has failed no longer claims, so it only
    /// repairs.
    fn repairs_first(&self, now: u64) -> bool {
        let is_not_sealed = |portion: &Portion| now < self.frames().sealed_at(portion.frame);
        // The node marks tracks that it runs without a claim before their frame is sealed, so that other nodes cannot
        // claim them.
        let marks_first = self.unclaimed.to_mark.front().is_some_and(is_not_sealed);
        self.urgent.is_some() || self.failure.is_some() || marks_first
    }

    /// Returns an empty claim. Its response shows whether the store has lost data.
    pub(super) fn sign_of_life(&mut self, progress: &str) -> Request {
        self.claim(Vec::new(), progress)
    }

    /// Returns the next request of a node that is about to leave, or `None` if the node knows its tracks of all frames
    /// in which it still takes part. The store grants nothing to a node that has left. The number of these frames grows
    /// while a response is pending.
    pub(crate) fn request_before_it_leaves(
        &mut self,
        now: u64,
        is_lagging: bool,
        progress: &str,
    ) -> Option<Request> {
        (self.is_lagging, self.is_leaving) = (is_lagging, true);
        let claim = self.last_claim(now, progress);
        if claim.is_some() || !self.is_undecided(now) {
            return claim;
        }
        self.request(now, is_lagging, progress)
    }

    pub(crate) fn must_wait(&self, now: u64) -> bool {
        let may_ask = self.is_lagging || self.appetite < 1.0 || self.is_undecided(now);
        may_ask && now < self.asks_from
    }

    fn is_undecided(&self, now: u64) -> bool {
        let last = self.leaves_from(now).min(self.end());
        self.book.next() < last
            || self.book.entries().any(|entry| entry.frame < last && entry.tracks.is_none())
    }

    /// Returns the last claim of a node that leaves. A node that lags, or lagged recently, has postponed asking
    /// for the tracks that other nodes left. It asks for these tracks before it leaves, because there may be no other
    /// nodes, or the other nodes may have no time for these tracks.
    fn last_claim(&mut self, now: u64, progress: &str) -> Option<Request> {
        if self.failure.is_some() || (!self.is_lagging && self.appetite >= 1.0) {
            return None;
        }
        self.book.extend(self.first_not_asked_for(now).min(self.end()));
        let asks = self.last_asks(now);
        let last = self.leaves_from(now);
        if asks.iter().all(|ask| ask.frame >= last) {
            return None;
        }
        if self.urgent.is_some() {
            // Until the store has received this request, it grants nothing, or it grants tracks that this node would
            // not use.
            return self.urgent.clone();
        }
        Some(self.claim(asks, progress))
    }

    /// Returns the asks of the last claim. In frames for which the other nodes have already asked, the node asks for
    /// all tracks that are left. In later frames for which it has not asked yet, it asks only for its own tracks. It
    /// cannot wait until the other nodes have asked for the later frames, because over a slow link, it would then never
    /// know all its tracks. There are at most [`MOST_ASKED`] asks, because no lead has more frames.
    fn last_asks(&self, now: u64) -> Vec<Ask> {
        let (rank, nodes) = self.run.roster.rank(self.node);
        let own = Take::Own { rank, nodes, most: self.frames().tracks };
        let until = self.frames().at(now) + LEAD;
        let is_asked = |entry: &&Entry| {
            now < self.frames().sealed_at(entry.frame)
                && entry.stage != Stage::Done
                && entry.frame >= self.resumes_in
        };
        let entries = self.book.entries().filter(is_asked);
        let take = |entry: &Entry| {
            if entry.frame > until && entry.stage == Stage::Own {
                own
            } else {
                self.all_that_is_left()
            }
        };
        entries.map(|entry| Ask { frame: entry.frame, take: take(entry) }).collect()
    }

    /// Returns the time at which a claim with these asks expires. The time from now until then is the shortest of:
    ///
    /// * three quarters of the time that the node waits for a response: the remaining quarter is for the response's way
    ///   back;
    /// * if the node already has tracks of an asked frame: half of the time until that frame begins, because the
    ///   response must arrive before that;
    /// * two thirds of the time until the node decides alone, if it is about to do so.
    fn given_up_at(&self, asks: &[Ask]) -> u64 {
        let (now, patience) = (self.awake_at, self.patience_ns());
        let is_asked = |entry: &Entry| {
            asks.iter().any(|ask| ask.frame == entry.frame && ask.take != Take::Missed)
        };
        let known = self.book.entries().filter(|entry| entry.tracks.is_some() && is_asked(entry));
        let begins = known.map(|entry| self.frames().begins(entry.frame).saturating_sub(now) / 2);
        let is_undecided = self.missed_since.is_none() && self.undecided().next().is_some();
        let decides = is_undecided.then(|| (self.overdue_at(now) - now) * 2 / 3);
        now + begins.chain(decides).fold(patience - patience / 4, u64::min)
    }

    /// Returns a claim with these asks. While the store's clock is off, the claim is empty, because this node would not
    /// use the granted tracks.
    fn claim(&mut self, mut asks: Vec<Ask>, progress: &str) -> Request {
        if self.last_reply == LastReply::Refused {
            asks.clear();
        }
        self.sequence += 1;
        Request::Claim(Claim {
            id: self.run.id.clone(),
            node: self.node,
            sequence: self.sequence,
            answered: self.last_answered,
            epoch: self.run.epoch,
            lead: self.frames().lead(self.ahead_ns()),
            until_us: self.given_up_at(&asks) / 1_000,
            versions: self.run.versions.len() as u64,
            change: self.run.change(),
            roster: self.run.roster.version,
            counted: self.run.counted.until,
            progress: progress.to_owned(),
            asks,
        })
    }

    /// Returns the next request of a node that ends: a sign of life, then repairs, and at last the finish. `has_heard`
    /// is true if the sign of life was answered.
    pub(crate) fn last_request(
        &mut self,
        has_heard: bool,
        progress: String,
        results: &[u8],
    ) -> Request {
        if !has_heard {
            return self.sign_of_life(&progress);
        }
        let (id, node, results) = (self.run.id.clone(), self.node, results.to_vec());
        self.next_repair().unwrap_or(Request::Finish { id, node, progress, results })
    }

    pub(super) fn next_repair(&mut self) -> Option<Request> {
        if self.urgent.is_some() || self.unclaimed.to_mark.is_empty() {
            return self.urgent.clone();
        }
        self.sequence += 1;
        let portions = self.unclaimed.to_mark.iter().take(MOST_MARKED).cloned().collect();
        let (id, node, sequence) = (self.run.id.clone(), self.node, self.sequence);
        let (answered, epoch) = (self.last_answered, self.run.epoch);
        Some(Request::Mark { id, node, sequence, answered, epoch, portions })
    }

    pub(super) fn advance(&mut self, now: u64) {
        let until = self.first_not_asked_for(now).min(self.end());
        if until > self.book.next() {
            // A node that has just woken from a stall may be late only because of the stall, and not because it is too
            // slow.
            let has_just_woken = self.woke_at == self.awake_at;
            self.appetite = if self.is_lagging && !has_just_woken {
                self.appetite / 2.0
            } else {
                (self.appetite + 1.0 / 16.0).min(1.0)
            };
        }
        self.book.extend(until);
        let part = self.run.roster.rank(self.node);
        self.book.pass(self.frames().at(now), &mut self.load, part);
    }

    pub(super) fn asks(&self, now: u64) -> Vec<Ask> {
        let wanted = self.wanted_entries(now);
        let due = wanted.filter(|(entry, moments)| moments.asks_for(entry.stage) <= now);
        due.take(MOST_ASKED)
            .map(|(entry, moments)| Ask {
                frame: entry.frame,
                take: match self.wanted(entry.frame, entry.stage) {
                    Take::Own { .. } | Take::Share { .. } if now >= moments.sealed_at => {
                        Take::Missed
                    }
                    take => take,
                },
            })
            .collect()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "within the number of tracks"
    )]
    pub(super) fn wanted(&self, frame: u64, stage: Stage) -> Take {
        if frame < self.resumes_in {
            return Take::Nothing;
        }
        let (rank, nodes) = self.run.roster.rank(self.node);
        match stage {
            Stage::Own => {
                let own = self.frames().own(frame, rank, nodes).len();
                Take::Own { rank, nodes, most: (self.appetite * own as f64).ceil() as u32 }
            }
            // The free tracks are divided equally among this node and the nodes after it in the roster, and this node
            // takes one part. If this node asks earlier than the nodes before it in the roster, it takes at most `most`
            // tracks, so that enough tracks are left for the earlier nodes.
            Stage::Share => {
                let most = self.frames().tracks.div_ceil(nodes.max(1));
                Take::Share { nodes: nodes - rank, most }
            }
            Stage::Rest => self.all_that_is_left(),
            Stage::Done => Take::Nothing,
        }
    }

    pub(super) fn all_that_is_left(&self) -> Take {
        Take::Share { nodes: 1, most: self.frames().tracks }
    }
}
