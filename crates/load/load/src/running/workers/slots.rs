//! Counts slots, so that a run knows when it ends.

use super::length::RunLength;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many slots a run may still start, and what became of those that were granted.
#[derive(Debug)]
pub(crate) struct Slots {
    /// How many more slots of a closed loop may start that are recorded. None without a limit: then threads need not
    /// share a count.
    left: Option<AtomicU64>,
    /// How many of the granted slots were decided about: started or refused. None unless the run ends with the last
    /// slot of the load or of those that are counted.
    decided: Option<AtomicU64>,
    /// How many of the granted slots were refused: they are not started.
    refused: AtomicU64,
}

impl Slots {
    /// The counts of a run of this length.
    pub(crate) fn new(length: &RunLength) -> Slots {
        let is_awaited = length.ends_with_load || length.counted.is_some();
        Slots {
            left: length.slots.map(AtomicU64::new),
            decided: is_awaited.then(AtomicU64::default),
            refused: AtomicU64::default(),
        }
    }

    /// Whether the run ends by a number of slots: a limit, or those of the load.
    pub(crate) fn are_limited(&self) -> bool {
        self.left.is_some() || self.decided.is_some()
    }

    /// Takes one of the slots that are left. Returns how many there were before, `u64::MAX` without a limit; none if
    /// there were none.
    pub(crate) fn take_one(&self) -> Option<u64> {
        let Some(left) = &self.left else { return Some(u64::MAX) };
        // Relaxed: each decrement must be unique; nothing else is published through it. No loom
        // model: one atomic, no second one to order against.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()
    }

    /// Counts a slot that was granted and will not be started.
    pub(crate) fn refuse(&self) {
        // Relaxed: a count that is read when the threads have ended.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a granted slot as decided about. Returns how many were until then, with this one; none if nothing ends
    /// with the last one.
    pub(crate) fn count_decided(&self) -> Option<u64> {
        // AcqRel: a thread that counts after another thread knows of the grants of that thread. So the thread that
        // counts last knows of all. No loom model: one atomic, and the pacer's own lock.
        self.decided.as_ref().map(|decided| decided.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// How many granted slots were decided about; none if nothing ends with the last one.
    pub(crate) fn decided(&self) -> Option<u64> {
        // Acquire: as in `count_decided`.
        self.decided.as_ref().map(|decided| decided.load(Ordering::Acquire))
    }

    /// How many of the slots that the pacer has granted were not started, if the run ends with the last slot of the
    /// load. Called when all threads have ended.
    pub(crate) fn not_started(&self, granted: u64) -> u64 {
        // Relaxed: as in `refuse`; the caller has joined the threads, so it knows what they did.
        let [decided, refused] = [self.decided.as_ref(), Some(&self.refused)]
            .map(|count| count.map_or(0, |count| count.load(Ordering::Relaxed)));
        granted.saturating_sub(decided) + refused
    }
}
