//! The schedule as straight pieces: the one in force and those before it. A slot that was due on an
//! earlier piece and has not started yet keeps the intended start that it got there.
//!
//! A piece holds for the slots behind its anchor, up to and including the anchor of the next piece.
//! The first one also holds for everything before it.

use super::line::Line;
use crate::position::{REACH, before, earlier, first_after, ticks_between};
use crate::scale::Scale;

/// This many of the last pieces are kept as they are, because callers that are about to start, or
/// hold a slot, may be on one.
const EXACT: usize = 40;

/// This many pieces are kept in any case.
const KEPT: usize = EXACT + 8;

/// Up to this many pieces are kept while slots on them have not been claimed, or have been given
/// back.
const MOST: usize = 1024;

/// Slots behind one position, up to and including another, that lie on a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) line: Line,
    pub(crate) behind: u64,
    pub(crate) until: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    line: Line,
    /// When it begins to hold. The line's anchor lies a part of a tick before that.
    since: i64,
    /// How far intended starts on this piece are off at most, if it stands for several pieces.
    error_ns: i64,
}

#[derive(Debug)]
pub(crate) struct History {
    /// Oldest first, never empty; positions and times both ascend.
    pieces: Vec<Piece>,
}

impl History {
    pub(crate) fn new(line: Line) -> History {
        History { pieces: vec![Piece { line, since: line.time, error_ns: 0 }] }
    }

    /// The piece in force.
    pub(crate) fn current(&self) -> &Line {
        &self.pieces[self.pieces.len() - 1].line
    }

    fn index_of(&self, position: u64) -> usize {
        let is_behind = |piece: &Piece| ticks_between(piece.line.position, position) > 0;
        self.pieces.iter().rposition(is_behind).unwrap_or(0)
    }

    /// The piece that the slot at `position` lies on, with its ends.
    pub(crate) fn stretch(&self, position: u64) -> Stretch {
        let index = self.index_of(position);
        let line = self.pieces[index].line;
        let next = self.pieces.get(index + 1).map(|next| next.line.position);
        Stretch {
            line,
            // Nothing comes before the first piece, so it also has the slot at its anchor.
            behind: if index == 0 { line.position.wrapping_sub(1) } else { line.position },
            until: next.unwrap_or(line.position.wrapping_add_signed(REACH)),
        }
    }

    /// When the slot at `position` is intended to start.
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        self.pieces[self.index_of(position)].line.time_of(position)
    }

    /// When the schedule comes by `position`: for a slot that has forfeited time that is after what
    /// it has forfeited.
    pub(crate) fn passes(&self, position: u64) -> i64 {
        let is_at = |piece: &&Piece| ticks_between(piece.line.position, position) >= 0;
        self.pieces.iter().rfind(is_at).unwrap_or(&self.pieces[0]).line.time_of(position)
    }

    /// The first slot whose intended start is at `time` or later.
    pub(crate) fn first_from(&self, time: i64) -> u64 {
        let index = self.pieces.iter().rposition(|piece| piece.since < time).unwrap_or(0);
        let late = self.pieces[index].line.position_at(time.saturating_sub(1));
        // Behind its end a piece says nothing: the next one begins later than that.
        first_after(
            self.pieces.get(index + 1).map_or(late, |next| earlier(late, next.line.position)),
        )
    }

    /// From `now` on a tick lasts `scale`.
    pub(crate) fn append(&mut self, scale: Scale, now: i64) {
        let last = self.pieces[self.pieces.len() - 1];
        let line = last.line.continued(now, scale);
        // Two changes at one moment become one.
        if last.since >= now && last.line.has_no_slot_up_to(line.position) && self.pieces.len() > 1
        {
            self.pieces.pop();
        }
        self.push(Piece { line, since: now.max(last.since), error_ns: 0 });
    }

    fn push(&mut self, piece: Piece) {
        if self.pieces.len() == self.pieces.capacity() {
            // Not twice as many, so that a pacer stays small.
            self.pieces.reserve_exact(8);
        }
        self.pieces.push(piece);
    }

    /// The slots behind the one at `position` start as if that one started at `time`, which is
    /// later than it does. Changes of rate keep their times.
    pub(crate) fn forfeit(&mut self, position: u64, time: i64) {
        let index = self.pieces.iter().rposition(|piece| piece.since <= time).unwrap_or(0);
        let scale = self.pieces[index].line.scale;
        let later = self.pieces[index + 1..].to_vec();
        self.pieces.retain(|piece| ticks_between(piece.line.position, position) > 0);
        self.drop_settled(position);
        self.push(Piece { line: Line { time, position, scale }, since: time, error_ns: 0 });
        for piece in &later {
            self.append(piece.line.scale, piece.since);
        }
    }

    /// The slot at `position` has started. If the last piece is only for this slot, because the one
    /// before it forfeited time, nothing will read it again.
    fn drop_settled(&mut self, position: u64) {
        if let [.., previous, last] = &self.pieces[..] {
            let has_others = !last.line.has_no_slot_up_to(before(position));
            if !has_others && previous.line.scale == last.line.scale {
                self.pieces.pop();
            }
        }
    }

    /// Everything is `span_ns` later.
    pub(crate) fn shift(&mut self, span_ns: i64) {
        for piece in &mut self.pieces {
            piece.line.time = piece.line.time.saturating_add(span_ns);
            piece.since = piece.since.saturating_add(span_ns);
        }
    }

    /// Bounds how much is remembered. Slots before `open` have been claimed and not given back.
    pub(crate) fn trim(&mut self, open: u64) {
        if self.pieces.len() <= KEPT {
            self.pieces.shrink_to(KEPT + 8);
            return;
        }
        self.drop_empty(open);
        while self.pieces.len() > MOST {
            self.merge(self.pieces.len() - EXACT);
        }
        while self.pieces.len() > KEPT {
            // The pieces that end before `open`, and so have no slot that is there to be claimed.
            let closed =
                self.pieces.iter().take_while(|piece| ticks_between(piece.line.position, open) > 0);
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
            let [piece, next] = [self.pieces[index], self.pieces[index + 1]];
            if next.since <= time && piece.line.has_no_slot_up_to(next.line.position) {
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
        let line = chord(&self.pieces[index].line, &self.pieces[index + 2].line);
        self.pieces[index] = Piece { line, error_ns, ..self.pieces[index] };
        self.pieces.remove(index + 1);
    }

    /// How far off intended starts are at most if the piece at `index` and the next become one. Two
    /// straight pieces are furthest from their chord where they meet.
    fn error_if_merged(&self, index: usize) -> i64 {
        let [first, second, third] = [index, index + 1, index + 2].map(|index| self.pieces[index]);
        let corner = second.line.position;
        let part = i128::from(ticks_between(first.line.position, corner));
        let whole = i128::from(ticks_between(first.line.position, third.line.position).max(1));
        let rise = i128::from(third.line.time) - i128::from(first.line.time);
        let straight = i128::from(first.line.time) + rise * part / whole;
        let off =
            |time: i64| i64::try_from((i128::from(time) - straight).abs()).unwrap_or(i64::MAX);
        let bend = off(first.line.time_of(corner)).max(off(second.line.time));
        bend.saturating_add(first.error_ns.max(second.error_ns))
    }

    /// Forgets what lies before `position`: positions can be told apart only within a range.
    pub(crate) fn forget(&mut self, position: u64) {
        let is_past = |piece: &Piece| ticks_between(piece.line.position, position) > 0;
        let past = self.pieces.iter().take_while(|piece| is_past(piece)).count();
        self.pieces.drain(..past.saturating_sub(1));
    }
}

impl Line {
    /// Whether there is no slot behind the anchor, up to and including `position`.
    fn has_no_slot_up_to(&self, position: u64) -> bool {
        ticks_between(first_after(self.position), position) < 0
    }
}

/// One straight line from where one piece begins to where another does.
fn chord(from: &Line, to: &Line) -> Line {
    let nanos = u128::from(to.time.saturating_sub(from.time).max(1).unsigned_abs());
    let ticks = u128::from(ticks_between(from.position, to.position).max(1).unsigned_abs());
    Line { time: from.time, position: from.position, scale: Scale::from_ratio(nanos, ticks) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::position::SLOT;

    /// Pieces of a second each, at these rates.
    fn history(rates: &[u64]) -> History {
        let scales = rates.iter().map(|&rate| Rate::per_second(rate).unwrap().scale());
        let mut scales = scales.zip((0..).map(|second| second * 1_000_000_000));
        let (scale, time) = scales.next().unwrap();
        let mut history = History::new(Line { time, position: 0, scale });
        scales.for_each(|(scale, now)| history.append(scale, now));
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
                history.pieces.iter().map(|piece| piece.line.position).collect()
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
