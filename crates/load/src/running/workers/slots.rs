//! Counts of slots, by which a run knows when it ends.

use super::length::RunLength;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many slots a run may still start, and what became of those that were granted.
#[derive(Debug)]
pub(crate) struct Slots {
    /// How many more slots may start that are recorded. None without a limit: then threads need not share a count.
    left: Option<AtomicU64>,
    /// How many of the granted slots were decided about: started or refused. None unless the run ends with the last
    /// slot of the load.
    decided: Option<AtomicU64>,
    /// How many of the granted slots were refused: they are not started.
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

    /// Takes `slots` slots that will not be started. Returns how many of them are part of the run: no more than were
    /// left.
    pub(crate) fn leave(&self, slots: u64) -> u64 {
        let Some(left) = &self.left else { return slots };
        let update = |left: u64| Some(left.saturating_sub(slots));
        // Relaxed: as in `take_one`.
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        before.map_or(0, |left| left.min(slots))
    }

    /// Counts a slot that was granted and will not be started.
    pub(crate) fn refuse(&self) {
        // Relaxed: a count that is read when the threads have ended.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a granted slot as decided about. Returns whether that may end the run.
    pub(crate) fn count_decided(&self) -> bool {
        // AcqRel: whoever counts after another thread knows of the grants of that thread. So whoever counts last
        // knows of all. No loom model: one atomic, and the pacer's own lock.
        let decided = self.decided.as_ref().map(|decided| decided.fetch_add(1, Ordering::AcqRel));
        decided.is_some()
    }

    /// Whether all slots that the pacer has granted were decided about, and that ends the run. `granted` reads how many
    /// it has granted.
    pub(crate) fn are_decided(&self, granted: impl FnOnce() -> u64) -> bool {
        // Acquire: as in `count_decided`.
        self.decided.as_ref().is_some_and(|decided| decided.load(Ordering::Acquire) == granted())
    }

    /// How many of the slots that the pacer has granted were not started, if the run ends with the last slot of the
    /// load. Called when all threads have ended.
    pub(crate) fn not_started(&self, granted: u64) -> u64 {
        // Relaxed: as in `refuse`; whoever joined the threads knows what they did.
        let [decided, refused] = [self.decided.as_ref(), Some(&self.refused)]
            .map(|count| count.map_or(0, |count| count.load(Ordering::Relaxed)));
        granted.saturating_sub(decided) + refused
    }
}
