//! Changes the pieces when time is forfeited.
//!
//! A slot starts late. The slots after it move as if it had started at some moment `time`, which is later than its
//! intended start and no later than now. The piece in force at `time` continues from that moment. Pieces that came into
//! force after `time` are put in force again, each at its moment, and continue from the positions that the moved slots
//! have reached.
//!
//! A corrected load ([`History::correct`]) is different, because its slots have times from before its piece came into
//! force:
//!
//! * For slots after its anchor it rules from when the load began.
//! * If it was corrected to *less*, its segment may not have reached the slot that starts, because that slot was due by
//!   the earlier load. Then the slots after that one wait for the segment: the segment does not move, only its anchor
//!   does. For example, at 10/s slots 0 to 8 have started; at 1 s the load is corrected to 1/s. Slots 9 and 10 are due,
//!   and slot 11 comes at 11 s. If slot 9 starts at 1.6 s and forfeits the time until then, slot 10 comes at 10 s, as
//!   the load says, and not at 2.6 s.
//! * If it was corrected to *more* after `time`, it is put in force again as a mere change of speed. The slots that it
//!   had made due at once are forfeited, too.

use super::super::segment::Segment;
use super::{History, Piece, has_no_slot};
use crate::position::{before, earlier, ticks_between};

impl Piece {
    /// Whether this piece gives the starts of the slots after the one at `position` if that slot starts at `time`.
    /// Slots of a corrected load have times from before its piece came into force.
    fn rules(&self, position: u64, time: i64) -> bool {
        let began = match &self.segment {
            Segment::Curve(curve) if ticks_between(curve.position, position) >= 0 => curve.since,
            _ => self.since,
        };
        began <= time
    }
}

impl History {
    /// Forfeits time: moves the slots after the one at `position` as if that slot started at `time`, which is
    /// later than its intended start. If it has not started yet, it keeps its own intended start, unless it lies at the
    /// anchor of the first line.
    pub(crate) fn forfeit(&mut self, position: u64, time: i64, is_started: bool) {
        let rules = |piece: &Piece| piece.rules(position, time);
        let index = self.pieces.iter().rposition(rules).unwrap_or(0);
        let changes = self.pieces[index + 1..].to_vec();
        // Nothing has changed yet if a curve of the user's panics here. (`append_again` asks it for nothing new.)
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

    /// The segment for the slots after `position`, if that slot starts at `time` and they go at the speed of `segment`;
    /// or `segment` itself, if it has not reached `position` by then.
    fn moved(&self, segment: &Segment, position: u64, time: i64) -> Segment {
        if segment.count_at(time, &self.slots) < self.slots.count_of(position) {
            return segment.clone().anchored(position);
        }
        Segment::through(&segment.speed(), position, time, &self.slots)
    }

    /// Puts a piece in force again where it was, after slots have moved. If it had not come as far by then as these
    /// slots have, they wait for it, and so do slots that were not known then. Otherwise slots that were not known then
    /// use the piece before, as if they had been known.
    fn append_again(&mut self, piece: &Piece) {
        let count_at = |segment: &Segment| segment.count_at(piece.since, &self.slots);
        if count_at(&piece.segment) < count_at(self.current()) {
            let position = earlier(self.position_at(piece.since), piece.segment.anchor());
            self.put_in_force(piece.segment.clone().anchored(position), piece.since);
        } else {
            self.append(&piece.segment.speed(), piece.since);
        }
    }

    /// Called when the slot at `position` has started and the next piece begins there. Forgets the last piece if that
    /// slot is the only one on it and its speed is that of the piece before. Such pieces come from the time that the
    /// slot before forfeited.
    fn drop_started(&mut self, position: u64) {
        if let [.., previous, last] = &self.pieces[..] {
            let is_for_it_alone = has_no_slot(last.segment.anchor(), before(position));
            if is_for_it_alone && previous.segment.speed().is_same(&last.segment.speed()) {
                self.pieces.pop();
            }
        }
    }
}
