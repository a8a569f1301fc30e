//! Moves slots when time is forfeited.
//!
//! When time is forfeited at a slot, the slots after it move as if that slot had started at `time`, which is later than
//! its intended start and not later than now. The piece that applies at `time` continues from that time. Later pieces are appended
//! again, each at its own time, and continue from the positions that the moved slots have reached.
//!
//! A corrected load ([`History::correct`]) has slots with times from before its piece began to apply:
//!
//! * For slots after its anchor, the piece applies from the time at which the load began.
//! * If the load was corrected to a *smaller* one, its segment may not have reached the slot that starts. The slots
//!   after that slot then wait for the segment: only the segment's anchor moves. For example, at 10/s slots 0 to 8 have
//!   started, and at 1 s the load is corrected to 1/s. If slot 9 starts at 1.6 s and forfeits the time until then, slot
//!   10 is intended to start at 10 s, and not at 2.6 s.
//! * If the load was corrected to a *larger* one after `time`, its piece is appended again as a change of speed. The
//!   time of the slots that the correction had made due at once is forfeited, too.

use super::super::segment::Segment;
use super::{History, Piece, has_no_slot};
use crate::position::{before, earlier, ticks_between};

impl Piece {
    /// Returns whether this piece gives the starts of the slots after the slot at `position`, which starts at `time`.
    fn rules(&self, position: u64, time: i64) -> bool {
        let began = match &self.segment {
            Segment::Curve(curve) if ticks_between(curve.position, position) >= 0 => curve.since,
            _ => self.since,
        };
        began <= time
    }
}

impl History {
    /// `time` must be after the intended start of the slot at `position`. If that slot has not started, it keeps its
    /// intended start, unless it lies at the anchor of the first line.
    pub(crate) fn forfeit(&mut self, position: u64, time: i64, is_started: bool) {
        let rules = |piece: &Piece| piece.rules(position, time);
        let index = self.pieces.iter().rposition(rules).unwrap_or(0);
        let changes = self.pieces[index + 1..].to_vec();
        // If a user's curve panics here, nothing has changed yet. (`append_again` computes no new times of the curve.)
        let segment = self.moved(&self.pieces[index].segment, position, time);
        let kept = self.pieces.partition_point(|piece| piece.is_before(position));
        self.pieces.truncate(kept);
        if is_started {
            self.drop_started(position);
        }
        self.forfeited_at = position;
        self.push(Piece::new(segment, time));
        for piece in &changes {
            self.append_again(piece);
        }
    }

    /// If `segment` has not reached `position` at `time`, only its anchor moves, so later slots wait for the segment.
    fn moved(&self, segment: &Segment, position: u64, time: i64) -> Segment {
        if segment.count_at(time, &self.slots) < self.slots.count_of(position) {
            return segment.clone().anchored(position);
        }
        Segment::through(&segment.speed(), position, time, &self.slots)
    }

    /// If the piece had not reached the moved slots by its own time, these slots wait for the piece, and so do the
    /// slots that were not known at that time. Otherwise, the slots that were not known get their times from the piece
    /// before, as if they had been known.
    fn append_again(&mut self, piece: &Piece) {
        let count_at = |segment: &Segment| segment.count_at(piece.since, &self.slots);
        if count_at(&piece.segment) < count_at(self.current()) {
            let position = earlier(self.position_at(piece.since), piece.segment.anchor());
            self.put_in_force(piece.segment.clone().anchored(position), piece.since);
        } else {
            self.append(&piece.segment.speed(), piece.since);
        }
    }

    /// Drops the last piece if the started slot at `position` is its only slot, and the piece before has the same
    /// speed. Such a piece was added when the slot before `position` forfeited time.
    fn drop_started(&mut self, position: u64) {
        if let [.., previous, last] = &self.pieces[..] {
            let is_for_it_alone = has_no_slot(last.segment.anchor(), before(position));
            if is_for_it_alone && previous.segment.speed().is_same(&last.segment.speed()) {
                self.pieces.pop();
            }
        }
    }
}
