//! Counts of slots by which a run ends.

use super::length::RunLength;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many slots a run may still start, and what became of those that were granted.
#[derive(Debug)]
pub(crate) struct Slots {
    /// How many recorded slots may still start, if that is limited: threads would pass the count to
    /// and fro for nothing.
    left: Option<AtomicU64>,
    /// How many slots were decided about, if the last one of the load ends the run.
    decided: Option<AtomicU64>,
    /// How many of them were not started.
    refused: AtomicU64,
}

impl Slots {
    /// The counts of a run of this length.
    pub(crate) fn new(length: &RunLength) -> Slots {
        Slots {
            left: length.slots.map(AtomicU64::new),
            decided: length.ends_with_load.then(AtomicU64::default),
            refused: AtomicU64::default(),
        }
    }

    /// Whether their number ends the run.
    pub(crate) fn are_limited(&self) -> bool {
        self.left.is_some() || self.decided.is_some()
    }

    /// Takes one of the slots that are left. Returns how many there were, if any.
    pub(crate) fn take_one(&self) -> Option<u64> {
        let Some(left) = &self.left else { return Some(u64::MAX) };
        // Relaxed: each decrement must be unique; nothing else is published through it. No loom
        // model: one atomic, no second one to order against.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()
    }

    /// Leaves `slots` slots of the run unstarted. Returns how many of them are part of the run.
    pub(crate) fn leave(&self, slots: u64) -> u64 {
        let Some(left) = &self.left else { return slots };
        let update = |left: u64| Some(left.saturating_sub(slots));
        // Relaxed: as in `take_one`.
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        before.map_or(0, |left| left.min(slots))
    }

    /// Counts a slot that was granted and is not started.
    pub(crate) fn refuse(&self) {
        // Relaxed: a count that is read when the threads are gone.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a granted slot that was decided about. Returns whether that may end the run.
    pub(crate) fn count_decided(&self) -> bool {
        // AcqRel: whoever counts last knows of all grants before it. No loom model: one atomic,
        // and the pacer's own lock.
        let decided = self.decided.as_ref().map(|decided| decided.fetch_add(1, Ordering::AcqRel));
        decided.is_some()
    }

    /// Whether all that were granted were decided about, if that ends the run.
    pub(crate) fn are_decided(&self, granted: impl FnOnce() -> u64) -> bool {
        // Acquire: as in `count_decided`.
        self.decided.as_ref().is_some_and(|decided| decided.load(Ordering::Acquire) == granted())
    }

    /// How many of those that were granted were not started, if the last one of the load ends the run. To
    /// be asked when all threads are gone.
    pub(crate) fn not_started(&self, granted: u64) -> u64 {
        // Relaxed: as in `refuse`; whoever joined the threads knows what they did.
        let [decided, refused] = [self.decided.as_ref(), Some(&self.refused)]
            .map(|count| count.map_or(0, |count| count.load(Ordering::Relaxed)));
        granted.saturating_sub(decided) + refused
    }
}
