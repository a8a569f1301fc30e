//! Stores the schedule as pieces: the current piece and earlier ones, on which slots that were due keep their intended
//! starts.
//!
//! A piece contains the slots after its anchor, up to and including the anchor of the next piece. The first piece also
//! contains all slots before its anchor. A piece is dropped when no caller can need its slots any more, or if there are
//! more than 1024 old pieces on which no caller holds a slot. A slot on a dropped piece gets the time at which the next
//! piece begins. That time is past and never before the slot's own time, so the wait time can be too short but never
//! too long.

mod forfeit;
mod forget;

use super::curve::Curve;
use super::curve_fit;
use super::load::Load;
use super::segment::{Segment, Speed};
use super::slots::Slots;
use super::stretch::{Begin, Numbering, Stretch};
use crate::count::Count;
use crate::lease::Lease;
use crate::position::{RANGE, REACH, SLOT, before, earlier, first_after, later, ticks_between};
use crate::shape::Shape;
use crate::shard::Shard;

#[derive(Clone, Debug)]
struct Piece {
    segment: Segment,
    /// The time from which the piece applies. A line reaches its anchor at this time or at most a tick earlier. After a
    /// correction to a smaller load, a line can reach its anchor after this time.
    since: i64,
    /// No slot of the piece lies after this position or after the next piece's anchor. The next piece may begin later,
    /// if pieces between the two have been dropped.
    ends_at: u64,
}

impl Piece {
    fn new(segment: Segment, since: i64) -> Piece {
        let ends_at = segment.anchor().wrapping_add_signed(REACH);
        Piece { segment, since, ends_at }
    }

    fn is_before(&self, position: u64) -> bool {
        ticks_between(self.segment.anchor(), position) > 0
    }
}

#[derive(Debug)]
pub(crate) struct History {
    slots: Slots,
    /// The pieces, oldest first. There is at least one. Anchors ascend. `since` ascends as well, except where time was
    /// forfeited on a corrected load.
    pieces: Vec<Piece>,
    /// The last slot after which time was forfeited: the piece that is anchored at this slot begins after the forfeited
    /// time. A change of speed within a tick after a slot also anchors a piece at that slot, but forfeits no time.
    forfeited_at: u64,
    /// A number that grows with every change that moves a slot, but not when unneeded pieces are dropped.
    revision: u64,
    enough: usize,
}

impl History {
    pub(crate) fn new(speed: &Speed, slots: Slots, time: i64) -> History {
        let segment = Segment::starting(speed, time);
        let pieces = vec![Piece::new(segment, time)];
        // The revision begins at 1, because a curve uses 0 for a time that it has not computed yet.
        History { slots, pieces, forfeited_at: before(0), revision: 1, enough: 0 }
    }

    pub(crate) fn current(&self) -> &Segment {
        &self.last().segment
    }

    fn last(&self) -> &Piece {
        &self.pieces[self.pieces.len() - 1]
    }

    pub(crate) fn since(&self) -> i64 {
        self.last().since
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    #[inline]
    fn index_of(&self, position: u64) -> usize {
        self.pieces.iter().rposition(|piece| piece.is_before(position)).unwrap_or(0)
    }

    fn ends_at(&self, index: usize) -> u64 {
        let next = self.pieces.get(index + 1).map(|next| next.segment.anchor());
        let ends_at = self.pieces[index].ends_at;
        next.map_or(ends_at, |next| earlier(next, ends_at))
    }

    /// If the slot's piece was dropped, returns the slot's intended start: the time at which the next piece begins.
    #[inline]
    fn forgotten_until(&self, index: usize, position: u64) -> Option<i64> {
        let next = self.pieces.get(index + 1)?;
        (ticks_between(self.pieces[index].ends_at, position) > 0).then_some(next.since)
    }

    /// Returns `None` if slots are unevenly spaced, not known yet or never start, or if the piece was dropped.
    pub(crate) fn stretch(&self, position: u64) -> Option<Stretch> {
        let index = self.index_of(position);
        let ends_at = self.ends_at(index);
        match &self.pieces[index].segment {
            _ if self.forgotten_until(index, position).is_some() => None,
            &Segment::Line(line) => Some(Stretch {
                line,
                bend: 0,
                // No other piece contains the slot at the anchor of the first piece.
                begins_after: line.position.wrapping_sub(u64::from(index == 0)),
                ends_at,
                numbers: Numbering::new(self.slots.even_from(position)?, position, line.position),
            }),
            Segment::Curve(curve) => {
                let begin = self.begin(curve, position, ends_at)?;
                let bent = curve_fit::parabola(curve, &begin, &self.slots);
                let chord = || curve_fit::chord(curve, &begin, &self.slots, self.revision);
                Some(bent.unwrap_or_else(chord))
            }
        }
    }

    /// Returns `None` if slots are not evenly spaced, or if the curve never reaches the slot at `wanted`.
    fn begin(&self, curve: &Curve, wanted: u64, ends_at: u64) -> Option<Begin> {
        let (position, time) = self.known_near(curve, wanted);
        let even = self.slots.even_from(position).filter(|_| time < i64::MAX)?;
        let may_begin =
            position != wanted || curve.may_begin_at(self.slots.count_of(position), time);
        // The bound of 2^44 slots, which is the range of positions, prevents an overflow of the product.
        let more = RANGE.unsigned_abs().min(even.more.min(1 << 44) * SLOT);
        let more = if may_begin { more } else { 0 };
        let ends_at_most = earlier(position.wrapping_add(more), ends_at);
        Some(Begin { position, time, wanted, ends_at_most, even })
    }

    /// Returns the slot before `position` if its time is known and a line may begin there.
    fn known_near(&self, curve: &Curve, position: u64) -> (u64, i64) {
        let previous = before(position);
        let is_on = ticks_between(curve.position, previous) > 0
            && self.slots.even_from(previous).is_some_and(|even| even.more > 0);
        let may_begin =
            |&time: &i64| is_on && curve.may_begin_at(self.slots.count_of(previous), time);
        let known = curve.known_time(previous, self.revision).filter(may_begin);
        known.map_or_else(|| (position, self.time_of(position)), |time| (previous, time))
    }

    #[inline]
    pub(crate) fn time_of(&self, position: u64) -> i64 {
        let index = self.index_of(position);
        self.forgotten_until(index, position).unwrap_or_else(|| match &self.pieces[index].segment {
            Segment::Line(line) => line.time_of(position),
            Segment::Curve(curve) => curve.time_in(self.revision, position, &self.slots),
        })
    }

    /// Returns the time at which the schedule continues from `position`: the time of the slot at that position, or the
    /// end of the forfeited time if time was forfeited after that slot.
    pub(crate) fn passes(&self, position: u64) -> i64 {
        if self.forfeited_at != position {
            return self.time_of(position);
        }
        let is_at = |piece: &&Piece| ticks_between(piece.segment.anchor(), position) >= 0;
        let piece = self.pieces.iter().rfind(is_at).unwrap_or(&self.pieces[0]);
        piece.segment.time_of(position, &self.slots)
    }

    /// Uses the piece that applies just before `time`. After a correction to a larger load, the returned slot and later
    /// ones may be intended to start earlier.
    pub(crate) fn first_from(&self, time: i64) -> u64 {
        let index = self.index_before(time);
        let last = self.reached_on(index, time.saturating_sub(1));
        // A piece does not contain slots after its end: they are on the next piece, which begins at `time` or later.
        first_after(earlier(last, self.ends_at(index)))
    }

    /// Searches only the piece of `position`. If all its slots start before `time`, returns the first slot after that
    /// piece. Returns `position` if its piece was dropped.
    pub(crate) fn first_along(&self, position: u64, time: i64) -> u64 {
        let index = self.index_of(position);
        let last = self.reached_on(index, time.saturating_sub(1));
        later(position, first_after(earlier(last, self.ends_at(index))))
    }

    pub(crate) fn count_at(&self, time: i64) -> Count {
        let piece = &self.pieces[self.index_before(time.saturating_add(1))];
        piece.segment.count_at(time.max(piece.since), &self.slots)
    }

    /// Returns the count that the schedule has reached at `time` if no time was forfeited.
    pub(crate) fn count_of_load(&self, load: &Load, time: i64) -> Count {
        match (load, self.current()) {
            // The load counts exactly from the anchor. The line would count from a position's time, which is rounded
            // to a whole nanosecond.
            (Load::Rate(_), Segment::Line(line)) if line.time <= time => self
                .slots
                .count_of(line.position)
                .saturating_add(load.count_at_ns(time.saturating_sub(line.time))),
            _ => self.count_at(time),
        }
    }

    fn index_before(&self, time: i64) -> usize {
        self.pieces.iter().rposition(|piece| piece.since < time).unwrap_or(0)
    }

    /// Always true for a time before the last piece: slots that were unknown at a change lie after that change.
    pub(crate) fn is_known_until(&self, time: i64) -> bool {
        match &self.pieces[self.index_before(time)..] {
            [Piece { segment: Segment::Curve(curve), .. }] => {
                curve.is_known_until(time.saturating_sub(1), &self.slots)
            }
            _ => true,
        }
    }

    /// The last piece must apply at `time`.
    pub(crate) fn position_at(&self, time: i64) -> u64 {
        self.reached_on(self.pieces.len() - 1, time)
    }

    fn reached_on(&self, index: usize, time: i64) -> u64 {
        let segment = &self.pieces[index].segment;
        let reached = segment.position_at(time, &self.slots);
        // Slots on earlier pieces were due when this piece began to apply, even while a load that was corrected to a
        // smaller one has not reached the anchor yet.
        if index == 0 { reached } else { later(reached, segment.anchor()) }
    }

    pub(crate) fn oldest(&self, time: i64) -> i64 {
        self.current().oldest(time)
    }

    pub(crate) fn continued(&self, speed: &Speed, time: i64) -> Segment {
        self.current().continued(speed, time, &self.slots)
    }

    pub(crate) fn append(&mut self, speed: &Speed, time: i64) {
        self.put_in_force(self.continued(speed, time), time);
    }

    /// From `time` on, slots have their times as if the load had followed `shape` since `origin`.
    pub(crate) fn correct(&mut self, shape: &Shape, origin: i64, time: i64) {
        let position = self.current().position_at(time, &self.slots);
        let curve = Curve::new(shape, origin, origin, position, 0);
        self.put_in_force(Segment::Curve(curve.into()), time);
    }

    fn put_in_force(&mut self, segment: Segment, time: i64) {
        let last = self.last();
        let since = time.max(last.since);
        // After a correction to a smaller load, `segment` begins before the last anchor. The slots up to that anchor
        // were due already, and stay on their pieces.
        let segment = segment.anchored_no_earlier(last.segment.anchor());
        // Two changes at the same time become one, if no slot lies between them.
        if last.since >= time
            && has_no_slot(last.segment.anchor(), segment.anchor())
            && self.pieces.len() > 1
        {
            self.pieces.pop();
        }
        self.push(Piece::new(segment, since));
    }

    fn push(&mut self, piece: Piece) {
        if self.pieces.len() == self.pieces.capacity() {
            // The capacity grows by a few pieces and not to twice the size, so that a pacer stays small.
            self.pieces.reserve_exact(4.max(self.pieces.len() / 16));
        }
        self.pieces.push(piece);
        self.revision += 1;
    }

    pub(crate) fn shift(&mut self, span_ns: i64) {
        for piece in &mut self.pieces {
            piece.segment.shift(span_ns);
            piece.since = piece.since.saturating_add(span_ns);
        }
        self.revision += 1;
    }

    pub(crate) fn count_claimed(&mut self, next: u64, claimed: u64) {
        self.slots.count_claimed(next, claimed);
    }

    pub(crate) fn set_shard(&mut self, shard: Shard, from: u64, next: u64) -> bool {
        self.revision += 1;
        self.slots.set_shard(shard, from, next)
    }

    pub(crate) fn lease(&mut self, from: u64, leases: &[Lease], not_started: u64) -> bool {
        self.revision += 1;
        self.slots.lease(from, leases, self.first_not_started(not_started))
    }

    pub(crate) fn first_leasable(&self, not_started: u64) -> u64 {
        self.slots.first_leasable(self.first_not_started(not_started))
    }

    /// Slots up to the anchor of a later piece may have started: they were due when that piece began to apply.
    fn first_not_started(&self, not_started: u64) -> u64 {
        let changed = self.pieces.iter().skip(1).map(|piece| first_after(piece.segment.anchor()));
        changed.fold(not_started, later)
    }
}

/// Returns whether there is no slot after the anchor, up to and including `position`.
fn has_no_slot(anchor: u64, position: u64) -> bool {
    ticks_between(first_after(anchor), position) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Rate};

    /// The slots of a corrected load have times from before the load began to apply.
    #[test]
    fn the_first_slot_along_a_corrected_load_is_found_at_once() {
        let speed = Speed::Scale(Rate::per_second(10).unwrap().scale_at(1 << 32));
        let slots = Slots::new(&Arrivals::even(), Shard::whole());
        let mut history = History::new(&speed, slots, 0);
        let shape: Shape = "hold 20/s 1h".parse().unwrap();
        history.correct(&shape, 0, 1_000_000_000);
        for (from, time_ms, expected) in [(11, 700, 14), (11, 720, 15), (15, 700, 15), (5, 700, 7)]
        {
            let first = history.first_along(from * SLOT, time_ms * 1_000_000);
            assert_eq!(first, expected * SLOT, "from {from}, {time_ms} ms");
        }
    }
}
