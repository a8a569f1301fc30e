//! The schedule as pieces: the one in force and those before it. A slot that was due on an
//! earlier piece and has not started yet keeps the intended start that it got there.
//!
//! A piece holds for the slots behind its anchor, up to and including the anchor of the next piece.
//! The first one also holds for everything before it.

use super::chord::{self, Stretch};
use super::course::{Course, Pace};
use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use crate::lease::Lease;
use crate::position::{REACH, before, earlier, first_after, later, ticks_between};
use crate::shape::Shape;
use crate::shard::Shard;

/// This many of the last pieces are kept as they are, because callers that are about to start, or
/// hold a slot, may be on one.
const EXACT: usize = 40;

/// This many pieces are kept in any case.
const KEPT: usize = EXACT + 4;

/// Up to this many pieces are kept while slots on them have not been claimed, or have been given
/// back.
const MOST: usize = 1024;

#[derive(Clone, Debug)]
struct Piece {
    course: Course,
    /// When it begins to hold. A line's anchor lies a part of a tick before that.
    since: i64,
    /// How far intended starts on this piece are off at most, if it stands for several pieces.
    error_ns: i64,
}

#[derive(Debug)]
pub(crate) struct History {
    slots: Slots,
    /// Oldest first, never empty; positions and times both ascend.
    pieces: Vec<Piece>,
    /// The last slot that has forfeited time. Any other anchor at a slot is that of a change of pace
    /// within the tick behind it, which leaves that slot its time.
    forfeited: u64,
    /// Changes with everything that moves a slot.
    revision: u64,
}

impl History {
    /// The count 0 is reached at `now`.
    pub(crate) fn new(pace: &Pace, slots: Slots, now: i64) -> History {
        let course = Course::starting(pace, now);
        let pieces = vec![Piece { course, since: now, error_ns: 0 }];
        History { slots, pieces, forfeited: before(0), revision: 1 }
    }

    /// The piece in force.
    pub(crate) fn current(&self) -> &Course {
        &self.last().course
    }

    fn last(&self) -> &Piece {
        &self.pieces[self.pieces.len() - 1]
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A number that changes with everything that moves a slot.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    fn index_of(&self, position: u64) -> usize {
        let is_behind = |piece: &Piece| ticks_between(piece.course.anchor(), position) > 0;
        self.pieces.iter().rposition(is_behind).unwrap_or(0)
    }

    /// Slots around the one at `position` whose intended starts lie on a straight line, as exactly
    /// as a [`chord`] does; none if there are none.
    pub(crate) fn stretch(&self, position: u64) -> Option<Stretch> {
        let index = self.index_of(position);
        let course = &self.pieces[index].course;
        let end = self.pieces.get(index + 1).map(|next| next.course.anchor());
        let end = end.unwrap_or(course.anchor().wrapping_add_signed(REACH));
        match course {
            &Course::Line(line) => Some(Stretch {
                line,
                // Nothing comes before the first piece, so it also has the slot at its anchor.
                behind: if index == 0 { line.position.wrapping_sub(1) } else { line.position },
                until: end,
            }),
            Course::Curve(curve) => {
                let start = self.known_near(curve, position);
                chord::along(curve, start, position, end, &self.slots)
            }
        }
    }

    /// The slot before the one at `position`, if its time is known, or else that one; and its time.
    fn known_near(&self, curve: &Curve, position: u64) -> (u64, i64) {
        let earlier = before(position);
        let is_on = ticks_between(curve.position, earlier) > 0
            && self.slots.even_until(earlier).is_some_and(|slots| slots > 0);
        let known = curve.known_time(earlier, self.revision).filter(|_| is_on);
        known.map_or_else(|| (position, self.time_of(position)), |time| (earlier, time))
    }

    /// When the slot at `position` is intended to start.
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        let course = &self.pieces[self.index_of(position)].course;
        match course {
            Course::Line(line) => line.time_of(position),
            Course::Curve(curve) => curve.time_in(self.revision, position, &self.slots),
        }
    }

    /// When the schedule comes by `position`: for a slot that has forfeited time that is after what
    /// it has forfeited.
    pub(crate) fn passes(&self, position: u64) -> i64 {
        if self.forfeited != position {
            return self.time_of(position);
        }
        let is_at = |piece: &&Piece| ticks_between(piece.course.anchor(), position) >= 0;
        let piece = self.pieces.iter().rfind(is_at).unwrap_or(&self.pieces[0]);
        piece.course.time_of(position, &self.slots)
    }

    /// The first slot whose intended start is at `time` or later.
    pub(crate) fn first_from(&self, time: i64) -> u64 {
        let index = self.pieces.iter().rposition(|piece| piece.since < time).unwrap_or(0);
        let late = self.pieces[index].course.position_at(time.saturating_sub(1), &self.slots);
        // Behind its end a piece says nothing: the next one begins later than that.
        let next = self.pieces.get(index + 1).map(|next| next.course.anchor());
        first_after(next.map_or(late, |next| earlier(late, next)))
    }

    /// Whether it is known which slots before `time` are this process's.
    pub(crate) fn is_known_until(&self, time: i64) -> bool {
        match self.current() {
            Course::Line(_) => true,
            Course::Curve(curve) => curve.is_known_until(time.saturating_sub(1), &self.slots),
        }
    }

    /// The last position that has been reached at `now`.
    pub(crate) fn position_at(&self, now: i64) -> u64 {
        self.current().position_at(now, &self.slots)
    }

    /// What was due before this is later than the range at `now`.
    pub(crate) fn oldest(&self, now: i64) -> i64 {
        self.current().oldest(now)
    }

    /// The course that goes on from the one in force at `now`, at another pace.
    pub(crate) fn continued(&self, pace: &Pace, now: i64) -> Course {
        self.current().continued(pace, now, &self.slots)
    }

    /// From `now` on the schedule goes at this pace.
    pub(crate) fn append(&mut self, pace: &Pace, now: i64) {
        self.go_on(self.continued(pace, now), now);
    }

    /// From `now` on the schedule goes as if it had followed this shape since `origin`.
    pub(crate) fn correct(&mut self, shape: &Shape, origin: i64, now: i64) {
        let position = self.current().position_at(now, &self.slots);
        let curve = Curve::new(shape, origin, origin, position, 0);
        self.go_on(Course::Curve(curve.into()), now);
    }

    fn go_on(&mut self, course: Course, now: i64) {
        let last = self.last();
        let since = now.max(last.since);
        // Two changes at one moment become one.
        if last.since >= now
            && has_no_slot(last.course.anchor(), course.anchor())
            && self.pieces.len() > 1
        {
            self.pieces.pop();
        }
        self.push(Piece { course, since, error_ns: 0 });
    }

    fn push(&mut self, piece: Piece) {
        if self.pieces.len() == self.pieces.capacity() {
            // Not twice as many, so that a pacer stays small.
            self.pieces.reserve_exact(4);
        }
        self.pieces.push(piece);
        self.revision += 1;
    }

    /// The slots behind the one at `position` start as if that one started at `time`, which is
    /// later than it does. Changes of pace keep their times.
    pub(crate) fn forfeit(&mut self, position: u64, time: i64) {
        let index = self.pieces.iter().rposition(|piece| piece.since <= time).unwrap_or(0);
        let pace = self.pieces[index].course.pace();
        let later = self.pieces[index + 1..].to_vec();
        // First, in case a curve of the user's panics.
        let course = Course::through(&pace, position, time, &self.slots);
        self.pieces.retain(|piece| ticks_between(piece.course.anchor(), position) > 0);
        self.drop_settled(position);
        self.forfeited = position;
        self.push(Piece { course, since: time, error_ns: 0 });
        for piece in &later {
            self.append(&piece.course.pace(), piece.since);
        }
    }

    /// The slot at `position` has started. If the last piece is only for this slot, because the one
    /// before it forfeited time, nothing will read it again.
    fn drop_settled(&mut self, position: u64) {
        if let [.., previous, last] = &self.pieces[..] {
            let has_others = !has_no_slot(last.course.anchor(), before(position));
            if !has_others && previous.course.pace().is_same(&last.course.pace()) {
                self.pieces.pop();
            }
        }
    }

    /// Everything is `span_ns` later.
    pub(crate) fn shift(&mut self, span_ns: i64) {
        for piece in &mut self.pieces {
            piece.course.shift(span_ns);
            piece.since = piece.since.saturating_add(span_ns);
        }
        self.revision += 1;
    }

    /// `claimed` slots lie before the position `next`. To be called before positions wrap around.
    pub(crate) fn see_claimed(&mut self, next: u64, claimed: u64) {
        self.slots.see(next, claimed);
    }

    /// See [`Slots::set_shard`].
    pub(crate) fn set_shard(&mut self, shard: Shard, from: u64, next: u64) -> bool {
        self.revision += 1;
        self.slots.set_shard(shard, from, next)
    }

    /// See [`Slots::lease`].
    pub(crate) fn lease(&mut self, from: u64, leases: &[Lease], open: u64) -> bool {
        self.revision += 1;
        self.slots.lease(from, leases, self.open(open))
    }

    /// As [`lease`](History::lease), from `from` or from the first slot on that may be leased.
    pub(crate) fn lease_rest(&mut self, from: u64, leases: &[Lease], open: u64) -> u64 {
        let from = from.max(self.slots.first_open(self.open(open)));
        self.lease(from, leases, open);
        from
    }

    /// The first slot that may not have started, if those before `due` may have. Those that were due at
    /// a change may, too, even if the load has not come to them again.
    fn open(&self, due: u64) -> u64 {
        let changed = self.pieces.iter().skip(1).map(|piece| first_after(piece.course.anchor()));
        changed.fold(due, later)
    }

    /// Bounds how much is remembered. Slots before `open` have been claimed and not given back.
    pub(crate) fn trim(&mut self, open: u64) {
        self.slots.trim(open);
        if self.pieces.len() <= KEPT {
            self.pieces.shrink_to(KEPT + 4);
            return;
        }
        self.drop_empty(open);
        while self.pieces.len() > MOST {
            self.merge(self.pieces.len() - EXACT);
        }
        while self.pieces.len() > KEPT {
            // The pieces that end before `open`, and so have no slot that is there to be claimed.
            let closed = self
                .pieces
                .iter()
                .take_while(|piece| ticks_between(piece.course.anchor(), open) > 0);
            let inexact = closed.count().min(self.pieces.len() - EXACT + 1);
            if inexact < 3 {
                return;
            }
            self.merge(inexact);
        }
    }

    /// Drops pieces without slots. Such a piece matters only while slots may still be moved to the
    /// time when it was in force. For all slots from `open` on that time has passed, if it ended
    /// before the intended start of the slot at `open`.
    fn drop_empty(&mut self, open: u64) {
        let time = self.time_of(open);
        let mut index = 1;
        while index + 1 < self.pieces.len() {
            let [piece, next] = [&self.pieces[index], &self.pieces[index + 1]];
            if next.since <= time && has_no_slot(piece.course.anchor(), next.course.anchor()) {
                self.pieces.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Makes one piece of two among the first `count`, the two that move intended starts the least.
    fn merge(&mut self, count: usize) {
        let error = |index: &usize| self.error_if_merged(*index);
        let Some(index) = (0..count.saturating_sub(2)).min_by_key(error) else { return };
        let error_ns = self.error_if_merged(index);
        let course = Course::Line(Line::between(self.start(index), self.start(index + 2)));
        self.pieces[index] = Piece { course, error_ns, since: self.pieces[index].since };
        self.pieces.remove(index + 1);
        self.revision += 1;
    }

    /// Where a piece begins, and when.
    fn start(&self, index: usize) -> (u64, i64) {
        let course = &self.pieces[index].course;
        (course.anchor(), course.time_of(course.anchor(), &self.slots))
    }

    /// How far off intended starts are at most if the piece at `index` and the next become one. Two
    /// straight pieces are furthest from their chord where they meet.
    fn error_if_merged(&self, index: usize) -> i64 {
        let [first, second, third] = [index, index + 1, index + 2].map(|index| self.start(index));
        let part = i128::from(ticks_between(first.0, second.0));
        let whole = i128::from(ticks_between(first.0, third.0).max(1));
        let rise = i128::from(third.1) - i128::from(first.1);
        let straight = i128::from(first.1) + rise * part / whole;
        let off =
            |time: i64| i64::try_from((i128::from(time) - straight).abs()).unwrap_or(i64::MAX);
        let [piece, next] = [&self.pieces[index], &self.pieces[index + 1]];
        let bend = off(piece.course.time_of(second.0, &self.slots)).max(off(second.1));
        bend.saturating_add(piece.error_ns.max(next.error_ns))
    }

    /// Forgets what lies before `position`: positions can be told apart only within a range.
    pub(crate) fn forget(&mut self, position: u64) {
        let is_past = |piece: &Piece| ticks_between(piece.course.anchor(), position) > 0;
        let past = self.pieces.iter().take_while(|piece| is_past(piece)).count();
        self.pieces.drain(..past.saturating_sub(1));
        self.slots.forget_before(position);
    }
}

/// Whether there is no slot behind the anchor, up to and including `position`.
fn has_no_slot(anchor: u64, position: u64) -> bool {
    ticks_between(first_after(anchor), position) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::SLOT;
    use crate::{Arrivals, Rate};

    /// Pieces of a second each, at these rates.
    fn history(rates: &[u64]) -> History {
        let paces = rates
            .iter()
            .map(|&rate| Pace::Scale(Rate::per_second(rate).unwrap().scale_at(1 << 32)));
        let mut paces = paces.zip((0..).map(|second| second * 1_000_000_000));
        let (pace, time) = paces.next().unwrap();
        let slots = Slots::new(Arrivals::even(), Shard::whole());
        let mut history = History::new(&pace, slots, time);
        paces.for_each(|(pace, now)| history.append(&pace, now));
        history
    }

    /// A bend wherever it is, by 1 % or by the factor 10: the one that goes is the slightest, and
    /// no slot moves by more than what is remembered of it.
    #[test]
    fn merging_takes_the_slightest_bend() {
        for slightest in 1..7 {
            let mut rate = 1_000;
            let mut rates = vec![rate];
            for bend in 1..8 {
                rate = match (bend == slightest, rate >= 1_000) {
                    (true, _) => rate / 100 * 101,
                    (_, true) => rate / 10,
                    (_, false) => rate * 10,
                };
                rates.push(rate);
            }
            let (exact, mut merged) = (history(&rates), history(&rates));
            merged.merge(rates.len());
            let anchors = |history: &History| -> Vec<u64> {
                history.pieces.iter().map(|piece| piece.course.anchor()).collect()
            };
            let mut kept = anchors(&exact);
            kept.remove(slightest);
            assert_eq!(anchors(&merged), kept, "{rates:?}");
            for slot in 1..=rates.iter().sum() {
                let position = slot * SLOT;
                let error_ns = merged.pieces[merged.index_of(position)].error_ns;
                let moved = merged.time_of(position).abs_diff(exact.time_of(position));
                assert!(moved <= error_ns.unsigned_abs() + 1, "{rates:?}: slot {slot}");
            }
        }
    }
}
