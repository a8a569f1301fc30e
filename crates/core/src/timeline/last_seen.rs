//! The last-seen clock: how far the schedule is known to be due. Cold callers move it, hot ones read it.
//!
//! A cache line of its own, because it moves more often than anything else in the face.
//!
//! # Orderings
//!
//! Both words move without the lock: a thread that is preempted while it holds the lock would otherwise send everybody to the
//! clock until it runs again. Both only move forwards while the schedule stays, `seen` first. A reader that gets the new
//! `horizon` gets that `seen` or a later one, so a wait time is never stamped before the slot was known to be due.
//!
//! The horizon carries the state that it belongs to, in the bits below a slot, and is moved by compare-and-swap: a clock that
//! was read under an earlier state moves nothing. (The bits come round after 65 536 states. To do harm, a thread would have to sleep
//! through all of them between reading the word and swapping it, and find the same horizon again.)
//! Models: `last_seen_never_goes_back`, `nothing_starts_while_paused`, `a_pause_is_nobodys_lateness`.

use crate::line::{SLOT, ticks_between};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};

/// The bits of a horizon that tell its state.
const STATE: u64 = SLOT - 1;

#[derive(Debug)]
pub(super) struct LastSeen {
    /// The last slot that is due, as far as anyone has seen. Below the slot, the state it belongs to.
    horizon: AtomicU64,
    /// When that was read, in clock nanoseconds.
    seen: AtomicU64,
}

impl LastSeen {
    pub(super) fn new() -> LastSeen {
        LastSeen { horizon: AtomicU64::new(0), seen: AtomicU64::new(0) }
    }

    /// Slots at positions up to the first are due; that was seen at the second.
    #[inline]
    pub(super) fn read(&self) -> (u64, u64) {
        // Acquire: pairs with the Release in `extend` and `enter`. Model: `last_seen_never_goes_back`.
        let horizon = self.horizon.load(Acquire);
        // Acquire: for the face, whose later fields it keeps behind itself. Model: `face_is_read_whole`.
        (horizon, self.seen.load(Acquire))
    }

    /// Enters a new state, whatever anybody has seen in the one before; called under the timeline's lock only.
    pub(super) fn enter(&self, state: u64, horizon: u64, seen: i64) {
        // Release: for the face, whose writer's first store it keeps before itself. Model: `face_is_read_whole`.
        self.seen.fetch_max(seen.unsigned_abs(), Release);
        // A swap, which `extend`'s compare-and-swap comes before or fails after. Release: as above.
        // Models: `nothing_starts_while_paused`, `a_pause_is_nobodys_lateness`.
        self.horizon.swap(in_state(horizon, state), Release);
    }

    /// Moves forwards, if that is still the state and nobody else moves it just now.
    pub(super) fn extend(&self, state: u64, horizon: u64, seen: i64) {
        let new = in_state(horizon, state);
        // Relaxed: acted on by compare-and-swap only. Model: `nothing_starts_while_paused`.
        let old = self.horizon.load(Relaxed);
        if old & STATE == new & STATE && ticks_between(old, new) > 0 {
            // Release, in this order: see the module's essay. Model: `last_seen_never_goes_back`.
            self.seen.fetch_max(seen.unsigned_abs(), Release);
            // A failure means that somebody has moved it: as good, and what it finds is not looked at, so Relaxed.
            let _ = self.horizon.compare_exchange(old, new, Release, Relaxed);
        }
    }
}

/// The last slot at or before `position`, marked as belonging to `state`.
fn in_state(position: u64, state: u64) -> u64 {
    position & !STATE | state & STATE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_words_only_move_forwards_while_the_state_stays() {
        let last = LastSeen::new();
        let shows = |slots: u64, state: u64, seen: u64| {
            assert_eq!(last.read(), (in_state(slots * SLOT, state), seen));
        };
        last.enter(1, 5 * SLOT, 50);
        last.extend(1, 3 * SLOT, 70);
        shows(5, 1, 50);
        last.extend(1, 7 * SLOT, 40);
        shows(7, 1, 50);
        last.extend(1, 8 * SLOT, 80);
        shows(8, 1, 80);
        last.enter(2, 2 * SLOT, 60);
        shows(2, 2, 80);
        last.extend(1, 9 * SLOT, 90);
        shows(2, 2, 80);
    }
}
