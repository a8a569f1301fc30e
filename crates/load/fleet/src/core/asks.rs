//! What is asked of the store, and when.

use super::{Core, LastReply};
use crate::book::{Entry, Stage};
use crate::error::FleetError;
use crate::frames::LEAD;
use crate::message::{Ask, Claim, Portion, Request, Take};

/// A node that has had nothing to claim for this many frames gives a sign of life: it claims nothing.
const SIGN_FRAMES: u64 = 5;

/// The longest time between the claims of two nodes that follow each other in the roster. It is short, so that the
/// store wakes up once for all of them or finds its caches warm, and long enough for it to hear them in order.
const APART_NS: u64 = 250_000;

/// The most portions that are marked in one request.
const MOST_MARKED: usize = 64;

/// The most frames that are asked for in one request.
const MOST_ASKED: usize = 64;

impl Core {
    /// The next request, if one is due by now. `is_late` says whether the node's oldest slot is more than a frame
    /// late; `progress` is what the node tells the others of itself.
    pub(crate) fn request(&mut self, now: u64, is_late: bool, progress: &str) -> Option<Request> {
        self.is_late = is_late;
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

    /// Whether the store has another run.
    fn is_replaced(&self) -> bool {
        matches!(self.failure, Some(FleetError::Replaced))
    }

    /// Whether the store has to be told something before the node claims anything. A node that has failed claims
    /// nothing more.
    fn repairs_first(&self, now: u64) -> bool {
        let is_not_closed = |portion: &Portion| now < self.frames().closes(portion.frame);
        // What the node is about to run without a claim is marked first, before others claim it.
        let marks_first = self.unclaimed.to_mark.front().is_some_and(is_not_closed);
        self.urgent.is_some() || self.failure.is_some() || marks_first
    }

    /// A claim of nothing, by whose answer the node hears whether the store has forgotten something.
    pub(super) fn sign_of_life(&mut self, progress: &str) -> Request {
        self.claim(Vec::new(), progress)
    }

    /// The next request of a node that is about to leave; None once it knows what it has up to the frame in which it
    /// leaves. After the last update its pacer can be told nothing more. While an answer is on its way, that frame moves
    /// on.
    pub(crate) fn request_before_it_leaves(
        &mut self,
        now: u64,
        is_late: bool,
        progress: &str,
    ) -> Option<Request> {
        (self.is_late, self.is_leaving) = (is_late, true);
        let claim = self.last_claim(now, progress);
        if claim.is_some() || !self.is_undecided(now) {
            return claim;
        }
        self.request(now, is_late, progress)
    }

    /// Whether a node that leaves has something to ask and has to wait with it. The store's clock is off, and would still
    /// be, or the store has not answered.
    pub(crate) fn rests(&self, now: u64) -> bool {
        let may_ask = self.is_late || self.appetite < 1.0 || self.is_undecided(now);
        may_ask && now < self.asks_from
    }

    /// Whether the node does not know yet what it has in the frames in which it would take part if it left now.
    fn is_undecided(&self, now: u64) -> bool {
        let last = self.leaves_from(now).min(self.end());
        self.book.next() < last
            || self.book.entries().any(|entry| entry.frame < last && entry.tracks.is_none())
    }

    /// What a node claims if it leaves while it is late, or was late shortly before; None for others. Such a node has
    /// put off asking for what is left. It asks for that now, because the others may have no time for it, or there may
    /// be no others. If all of it lies in frames in which the node would take no part, it asks for nothing: its pacer
    /// would not start that.
    fn last_claim(&mut self, now: u64, progress: &str) -> Option<Request> {
        if self.failure.is_some() || (!self.is_late && self.appetite >= 1.0) {
            return None;
        }
        self.book.extend(self.first_not_asked_for(now).min(self.end()));
        let asks = self.last_asks(now);
        let last = self.leaves_from(now);
        if asks.iter().all(|ask| ask.frame >= last) {
            return None;
        }
        if self.urgent.is_some() {
            // Until the store is told, it grants nothing, or what this node does not take.
            return self.urgent.clone();
        }
        Some(self.claim(asks, progress))
    }

    /// What a late node that leaves asks for in frames that have not closed: all that is left. Where the others have
    /// not asked for their own tracks yet, it first asks for its own. Over a slow link it can't wait there until they
    /// have asked, or it would never know all that it has. These are no more than [`MOST_ASKED`], since no lead is
    /// longer.
    fn last_asks(&self, now: u64) -> Vec<Ask> {
        let (rank, nodes) = self.run.roster.rank(self.node);
        let own = Take::Own { rank, nodes, most: self.frames().tracks };
        // The others have not asked for their own tracks after these.
        let until = self.frames().at(now) + LEAD;
        let is_asked = |entry: &&Entry| {
            now < self.frames().closes(entry.frame)
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

    /// A claim with these asks takes nothing if it reaches the store after this moment, because its answer would come too
    /// late. A quarter of the patience is left for its way back. If the node has something in a frame already, the answer
    /// must come before the frame begins, and half of that time is left. If the node is about to decide alone, a
    /// third of the time until then is left.
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

    /// A claim by these asks, which may be none. While the store's clock is off, it would grant what this node does not
    /// take: then it is a claim of nothing, by whose answer the node hears whether the clock is right again.
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

    /// The next request of a node that ends. The first is a sign of life: its answer says whether the store has forgotten
    /// something (`has_heard`). Then come repairs, and at last the results.
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

    /// The next request that tells the store something which it does not know, if there is one: the urgent one, or a
    /// mark of portions.
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

    /// Enters new frames in the book, adapts the appetite to whether the node is late, and puts frames away that have
    /// passed.
    pub(super) fn advance(&mut self, now: u64) {
        let until = self.first_not_asked_for(now).min(self.end());
        if until > self.book.next() {
            // A node that has just stood still is late for that alone, and may be fast enough.
            let has_just_woken = self.woke_at == self.awake_at;
            self.appetite = if self.is_late && !has_just_woken {
                self.appetite / 2.0
            } else {
                (self.appetite + 1.0 / 16.0).min(1.0)
            };
        }
        self.book.extend(until);
        let part = self.run.roster.rank(self.node);
        self.book.pass(self.frames().at(now), &mut self.load, part);
    }

    /// The first frame that the node does not ask for yet. Nodes ask a little later than they could, because clocks
    /// differ, and one after the other.
    fn first_not_asked_for(&self, now: u64) -> u64 {
        let now = now.saturating_sub(self.stagger_ns());
        self.run.first_unopened(now).min(self.frames().at(now + self.ahead_ns()) + LEAD + 1)
    }

    /// The node asks for a frame this long before the moment that lies [`LEAD`] frames before it. It is two round trips,
    /// because the request before may have to be answered first, and half a frame, because trips may become longer.
    fn ahead_ns(&self) -> u64 {
        2 * self.trips.long_ns() + self.frames().frame_ns / 2
    }

    /// By how much this node asks later than [`ahead_ns`](Core::ahead_ns) allows: a sixteenth of a frame, and a
    /// little more for each node before it in the roster.
    fn stagger_ns(&self) -> u64 {
        let (rank, nodes) = self.run.roster.rank(self.node);
        let sixteenth = self.frames().frame_ns / 16;
        let apart = (2 * sixteenth / u64::from(nodes.max(1))).min(APART_NS);
        sixteenth + apart * u64::from(rank)
    }

    /// What the node asks for now: in frames that have not closed, and in frames that it has missed.
    pub(super) fn asks(&self, now: u64) -> Vec<Ask> {
        let has_closed = |entry: &Entry| now >= self.frames().closes(entry.frame);
        let entries = self.book.entries().filter(|entry| self.is_wanted(entry, now));
        let due = entries.filter(|entry| self.due_at(entry.frame, entry.stage) <= now);
        due.take(MOST_ASKED)
            .map(|entry| Ask {
                frame: entry.frame,
                take: match self.wanted(entry.frame, entry.stage) {
                    Take::Own { .. } | Take::Share { .. } if has_closed(entry) => Take::Missed,
                    take => take,
                },
            })
            .collect()
    }

    /// Whether the node has a use for what it may still get of a frame. Once its pacer has been told of a frame, the node can
    /// have more of it only until the frame closes, and only if the answer comes before the frame begins. Two round trips
    /// must be left: a claim that reaches the store too late takes nothing in its other frames either.
    fn is_wanted(&self, entry: &Entry, now: u64) -> bool {
        let (frames, answered_at) = (self.frames(), now + 2 * self.trips.last_ns());
        !entry.is_leased()
            || (now < frames.closes(entry.frame) && answered_at < frames.begins(entry.frame))
    }

    /// When the node claims a stage of a frame; [`u64::MAX`] is never. A late node leaves what is not its own to
    /// others as long as there is time. A node with long round trips asks for its own tracks earlier. It does not ask
    /// for tracks of others before these can have asked.
    pub(super) fn due_at(&self, frame: u64, stage: Stage) -> u64 {
        // The moment that lies so many frames before the frame begins.
        let frames_before = |frames: u64| self.frames().begins(frame.saturating_sub(frames));
        // Earlier than that by `ahead_ns`, but not before the store takes claims.
        let asks_before = |frames: u64| {
            frames_before(frames).saturating_sub(self.ahead_ns()).max(frames_before(self.run.lead))
        };
        let just_in_time = frames_before(1).saturating_sub(2 * self.trips.long_ns());
        match stage {
            Stage::Own => asks_before(LEAD) + self.stagger_ns(),
            Stage::Share if self.is_late => just_in_time + self.stagger_ns(),
            Stage::Rest if self.is_late => just_in_time + self.frames().frame_ns / 2,
            Stage::Share => asks_before(LEAD - 1).max(frames_before(LEAD)) + self.stagger_ns(),
            Stage::Rest => asks_before(LEAD - 2).max(frames_before(LEAD - 1)) + self.stagger_ns(),
            Stage::Done => u64::MAX,
        }
    }

    /// What a claim asks for in a stage of a frame.
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
            // What is left is divided among this node and those after it in the roster, and this node takes one part.
            // So the last one takes what the others have left. None takes more than `most`, so one that asks before the
            // others leaves them their part.
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

    /// When the node has to ask or to decide next; [`u64::MAX`] is never.
    pub(crate) fn due(&self, now: u64) -> u64 {
        self.asks_next_at(now).min(self.decides_next_at(now))
    }

    /// When the next request is due.
    fn asks_next_at(&self, now: u64) -> u64 {
        if self.sent_at.is_some() || self.is_replaced() {
            return u64::MAX;
        }
        let marks = if self.has_marked_all() { u64::MAX } else { now };
        if self.failure.is_some() {
            return marks.max(self.asks_from);
        }
        let next = self.first_not_asked_for(now).max(self.book.next());
        let opens = if next < self.end() { self.due_at(next, Stage::Own) } else { u64::MAX };
        let entries = self.book.entries().filter(|entry| self.is_wanted(entry, now));
        let stages = entries.map(|entry| self.due_at(entry.frame, entry.stage));
        let first = stages.chain([opens, marks]).fold(self.sign_at(), u64::min);
        first.max(self.asks_from)
    }

    /// When the node decides next without an answer, or its last frame closes.
    fn decides_next_at(&self, now: u64) -> u64 {
        let unknown = self.book.entries().filter(|entry| entry.tracks.is_none());
        let alone = self.decides_alone_at();
        let decides = unknown.map(|entry| self.frames().closes(entry.frame).max(alone));
        let ends = self.frames().closes(self.end().saturating_sub(1));
        decides.chain([ends]).filter(|&at| at > now).min().unwrap_or(u64::MAX)
    }

    /// When a sign of life is due.
    fn sign_at(&self) -> u64 {
        self.asked_at + SIGN_FRAMES * self.frames().frame_ns
    }
}
