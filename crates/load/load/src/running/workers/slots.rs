//! Counts slots, to find out when a run with a limited number of slots ends.

use super::length::RunLength;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct Slots {
    /// The number of recorded slots that a closed loop may still start. It is `None` without a limit, so that the
    /// threads do not contend for it.
    left: Option<AtomicU64>,
    /// The number of granted slots that were started or refused. `None` unless the last slot of the load or a fixed
    /// number of requests ends the run.
    decided: Option<AtomicU64>,
    refused: AtomicU64,
}

impl Slots {
    pub(crate) fn new(length: &RunLength) -> Slots {
        let is_awaited = length.ends_with_load || length.counted.is_some();
        Slots {
            left: length.slots.map(AtomicU64::new),
            decided: is_awaited.then(AtomicU64::default),
            refused: AtomicU64::default(),
        }
    }

    pub(crate) fn are_limited(&self) -> bool {
        self.left.is_some() || self.decided.is_some()
    }

    /// Takes a slot. Returns the number of slots that were left before the call, or `u64::MAX` without a limit. Returns
    /// `None` if no slot was left.
    pub(crate) fn take_one(&self) -> Option<u64> {
        let Some(left) = &self.left else { return Some(u64::MAX) };
        // Relaxed: each decrement must be unique. The number publishes no other data. No loom model: it is a single
        // atomic.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()
    }

    pub(crate) fn refuse(&self) {
        // Relaxed: the count is read only after the threads have ended.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a decision and returns the number of decisions so far. Returns `None` if the last slot does not end the
    /// run.
    pub(crate) fn count_decided(&self) -> Option<u64> {
        // AcqRel, with itself: a thread sees the grants of all threads that counted before it, so the thread that
        // counts last sees all grants. No loom model: there is one atomic, and the pacer has its own lock.
        self.decided.as_ref().map(|decided| decided.fetch_add(1, Ordering::AcqRel) + 1)
    }

    pub(crate) fn decided(&self) -> Option<u64> {
        // Acquire: for the reason given in `count_decided`.
        self.decided.as_ref().map(|decided| decided.load(Ordering::Acquire))
    }

    /// Returns how many of the slots that the pacer has granted were not started, in a run that ends with its load or
    /// after a fixed number of requests. The number is final when all threads have ended.
    pub(crate) fn not_started(&self, granted: u64) -> u64 {
        // Relaxed: for the reason given in `refuse`. The controller has since locked the records of the threads, so it
        // sees their counts.
        let [decided, refused] = [self.decided.as_ref(), Some(&self.refused)]
            .map(|count| count.map_or(0, |count| count.load(Ordering::Relaxed)));
        granted.saturating_sub(decided) + refused
    }
}
