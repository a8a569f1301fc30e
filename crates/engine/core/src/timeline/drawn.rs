//! Publishes unevenly spaced slots that are drawn under the lock, so that callers can claim them without it.
//!
//! A caller that starts a slot under the timeline's lock also draws the slots after it that are due at the same
//! reading, at most [`DRAWN`] and at most as many as may start with one reading. Other callers claim these slots one by
//! one, by compare-and-swap of the shared word, until none is left or the schedule changes.
//!
//! # Orderings
//!
//! This is a sequence lock without fences, as in [`published`](super::published), with its own sequence. A writer
//! makes the sequence odd, stores the words with `Release`, and makes the sequence even with `Release`. A reader loads
//! the sequence, the words, and the sequence again, all but the last with `Acquire`. All words that it uses are
//! therefore from one draw.
//!
//! After that, the caller checks that the schedule still has the version under which the slots were drawn. If so, the
//! words are valid: the caller claims a slot that was due before any later change.

use crate::Grant;
use crate::grant::Stamp;
use crate::position::SLOT;
use crate::sync::{Acquire, AtomicU64, DRAWN, Relaxed, Release};

#[derive(Debug)]
pub(super) struct Drawn {
    /// Odd while a writer is storing.
    sequence: AtomicU64,
    version: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
    reading: AtomicU64,
    slots: [Slot; DRAWN],
}

#[derive(Debug)]
struct Slot {
    intended: AtomicU64,
    number: AtomicU64,
}

impl Drawn {
    pub(super) fn new() -> Drawn {
        let word = || AtomicU64::new(0);
        Drawn {
            sequence: word(),
            version: word(),
            start: word(),
            end: word(),
            reading: word(),
            slots: [(); DRAWN].map(|()| Slot { intended: word(), number: word() }),
        }
    }

    /// The grant is valid under the returned version. Its start is the draw's reading, or `reported` if that is later.
    pub(super) fn get(&self, position: u64, reported: u64) -> Option<(Grant, u64)> {
        // Acquire, all but the last: see *Orderings* above. Model: `drawn_slots_are_read_whole`.
        let sequence = self.sequence.load(Acquire);
        let version = self.version.load(Acquire);
        let start = self.start.load(Acquire);
        let end = self.end.load(Acquire);
        let reading = self.reading.load(Acquire).max(reported);
        let slot = self.slots.get(index(start, end, position)?)?;
        let intended = slot.intended.load(Acquire);
        let number = slot.number.load(Acquire);
        // Relaxed: the Acquire loads of the words keep this load after them. Partner: the stores of `write`. Model:
        // `drawn_slots_are_read_whole`.
        let is_whole = sequence.is_multiple_of(2) && self.sequence.load(Relaxed) == sequence;
        is_whole.then(|| (Grant::new(intended, Stamp::new(reading), number), version))
    }

    /// Called under the timeline's lock.
    pub(super) fn has(&self, position: u64, version: u64) -> bool {
        // Relaxed, all: only writers store, and the lock orders them; so no model.
        let start = self.start.load(Relaxed);
        let end = self.end.load(Relaxed);
        self.version.load(Relaxed) == version && index(start, end, position).is_some()
    }

    /// `slots` yields the intended start and the number of each slot. `end` converts the number of drawn slots to the
    /// position before which they may be claimed. Called under the timeline's lock.
    pub(super) fn write(
        &self,
        version: u64,
        start: u64,
        now: i64,
        slots: impl Iterator<Item = (i64, u64)>,
        end: impl FnOnce(u64) -> u64,
    ) {
        // Relaxed: only writers store, and the lock orders them; so no model.
        let sequence = self.sequence.load(Relaxed);
        // Relaxed: this store only has to come before the stores of the words, which their Release ensures. Partner:
        // `get`. Model: `drawn_slots_are_read_whole`.
        self.sequence.store(sequence.wrapping_add(1), Relaxed);
        let mut drawn = 0;
        for ((intended, number), slot) in slots.zip(&self.slots) {
            // Release, all: see *Orderings* above. Model: `drawn_slots_are_read_whole`.
            slot.intended.store(intended.max(0).unsigned_abs(), Release);
            slot.number.store(number, Release);
            drawn += 1;
        }
        self.version.store(version, Release);
        self.start.store(start, Release);
        self.end.store(end(drawn), Release);
        self.reading.store(now.max(0).unsigned_abs(), Release);
        self.sequence.store(sequence.wrapping_add(2), Release);
    }
}

fn index(start: u64, end: u64, position: u64) -> Option<usize> {
    // The difference is unsigned, so that a slot before the start is far after the end.
    let ticks = position.wrapping_sub(start);
    (ticks < end.wrapping_sub(start)).then(|| usize::try_from(ticks / SLOT).ok())?
}
