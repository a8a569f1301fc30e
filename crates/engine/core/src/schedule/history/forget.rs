//! Drops pieces of the schedule that are not needed, so that a pacer that is changed often stays small.

use super::{History, Piece, has_no_slot};
use crate::position::{earlier, first_after};

/// The number of most recent pieces that are kept if they have slots, because these slots may be held without a record.
const EXACT: usize = 32;

/// The number of pieces up to which a search for unneeded pieces is not worth its cost.
const KEPT: usize = EXACT + 4;

/// The maximum number of older pieces on which no caller holds a slot.
const MOST: usize = 1024;

impl History {
    /// All slots before `free` have been claimed, were not given back, and can no longer move other slots. `is_held`
    /// returns whether a slot between two positions is held, is awaited by a sleeping caller, or was given back.
    pub(crate) fn trim(&mut self, free: u64, is_held: impl Fn(u64, u64) -> bool) {
        self.slots.trim(free, &is_held);
        if self.pieces.len() <= self.enough.max(KEPT) {
            return;
        }
        let is_held = |piece: &Piece, next: &Piece| {
            is_held(first_after(piece.segment.anchor()), next.segment.anchor())
        };
        self.forget_unneeded(free, is_held);
        self.forget_slightest(is_held);
        // If many pieces are needed, the next search happens later.
        self.enough = self.pieces.len() + self.pieces.len() / 16;
        self.pieces.shrink_to(self.enough.max(KEPT) + 4);
    }

    fn inner(&self) -> impl Iterator<Item = (usize, (&Piece, &Piece))> {
        self.pieces.iter().zip(self.pieces.iter().skip(1)).enumerate().skip(1)
    }

    fn old(&self) -> usize {
        self.pieces.len().saturating_sub(EXACT)
    }

    /// Drops pieces on which no caller has a slot any more, and pieces without a slot. A piece without a slot matters
    /// only while a slot can still be moved into its time. That is impossible if the slot at `free` is intended to
    /// start later.
    fn forget_unneeded(&mut self, free: u64, is_held: impl Fn(&Piece, &Piece) -> bool) {
        let (time, old) = (self.time_of(free), self.old());
        let is_unneeded = |(index, (piece, next)): (usize, (&Piece, &Piece))| {
            let is_empty = has_no_slot(piece.segment.anchor(), next.segment.anchor());
            let is_done = || index < old && next.is_before(free) && !is_held(piece, next);
            next.since <= time && (is_empty || is_done())
        };
        let unneeded: Vec<bool> = self.inner().map(is_unneeded).collect();
        // `dedup_by` calls its closure for all pieces except the first, in order.
        let mut unneeded = unneeded.into_iter();
        self.pieces.dedup_by(|piece, previous| {
            let is_unneeded = unneeded.next().unwrap_or(false);
            if is_unneeded {
                previous.ends_at = earlier(previous.ends_at, piece.segment.anchor());
            }
            is_unneeded
        });
    }

    /// Drops old pieces on which no caller holds a slot, until [`MOST`] of these pieces are left. The slots of a
    /// dropped piece move by at most the time from the beginning of the previous piece to the beginning of the next
    /// piece. The pieces for which this time is shortest are dropped first. These times add up to at most about
    /// twice the length of the backlog, so the shortest one is at most about 2 / [`MOST`] of this length: 0.2 %.
    fn forget_slightest(&mut self, is_held: impl Fn(&Piece, &Piece) -> bool) {
        if self.pieces.len() <= MOST {
            return;
        }
        let old = self.inner().take_while(|(index, _)| *index < self.old());
        let unheld = old.filter(|(_, (piece, next))| !is_held(piece, next)).map(|(index, _)| index);
        let mut unheld: Vec<usize> = unheld.collect();
        while unheld.len() > MOST {
            let span = |&at: &usize| {
                let [previous, next] = [unheld[at] - 1, unheld[at] + 1];
                self.pieces[next].since.saturating_sub(self.pieces[previous].since)
            };
            let Some(at) = (0..unheld.len()).min_by_key(span) else { return };
            let index = unheld.remove(at);
            let anchor = self.pieces.remove(index).segment.anchor();
            let previous = &mut self.pieces[index - 1];
            previous.ends_at = earlier(previous.ends_at, anchor);
            unheld[at..].iter_mut().for_each(|index| *index -= 1);
            self.revision += 1;
        }
    }

    /// Drops the pieces that end before `position`: positions are unambiguous only within a range.
    pub(crate) fn forget(&mut self, position: u64) {
        let past = self.pieces.partition_point(|piece| piece.is_before(position));
        self.pieces.drain(..past.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::segment::Speed;
    use super::super::super::slots::Slots;
    use super::*;
    use crate::position::{SLOT, before, ticks_between};
    use crate::shard::Shard;
    use crate::{Arrivals, Rate};

    fn history(rates: &[u64]) -> History {
        let speeds = rates
            .iter()
            .map(|&rate| Speed::Scale(Rate::per_second(rate).unwrap().scale_at(1 << 32)));
        let mut speeds = speeds.zip((0..).map(|second| second * 1_000_000_000));
        let (speed, time) = speeds.next().unwrap();
        let slots = Slots::new(&Arrivals::even(), Shard::whole());
        let mut history = History::new(&speed, slots, time);
        speeds.for_each(|(speed, now)| history.append(&speed, now));
        history
    }

    fn times(history: &History) -> Vec<i64> {
        (1..5_000).map(|slot| history.time_of(slot * SLOT)).collect()
    }

    #[test]
    fn slots_on_forgotten_pieces_start_with_the_next_piece_and_held_slots_do_not_move() {
        let rates: Vec<u64> = (0..2_000).map(|second| 1 + second % 3).collect();
        let (exact, mut held, mut open) = (history(&rates), history(&rates), history(&rates));
        let is_held = |slot: u64| slot % 6 == 4;
        held.trim(u64::MAX / 4, |from, to| (from / SLOT..=to / SLOT).any(is_held));
        open.trim(SLOT, |_, _| false);
        assert!(held.pieces.len() < 2_000 / 3 + KEPT, "{} pieces", held.pieces.len());
        assert!(open.pieces.len() <= MOST + KEPT, "{} pieces", open.pieces.len());
        let exact = times(&exact);
        for (trimmed, most_ns) in [(held, 2_000_000_000), (open, 4_000_000_000)] {
            let times = times(&trimmed);
            assert!(times.is_sorted());
            for (slot, (&time, &exact)) in (1..).zip(times.iter().zip(&exact)) {
                assert!((0..=most_ns).contains(&(time - exact)), "slot {slot}: {time}, {exact}");
                assert!(time == exact || most_ns > 2_000_000_000 || !is_held(slot), "slot {slot}");
                let first = trimmed.first_from(time);
                assert_eq!(trimmed.time_of(first), time, "slot {slot}");
                assert!(ticks_between(first, slot * SLOT) >= 0, "slot {slot}");
                assert!(trimmed.time_of(before(first)) < time, "slot {slot}");
                let there = trimmed.stretch(slot * SLOT);
                assert!(
                    there.is_none_or(|there| there.time_of(slot * SLOT) == time),
                    "slot {slot}"
                );
            }
        }
    }
}
