//! Who sleeps for which slot, so that a change of plan reaches everyone at once.
//!
//! In the ordinary course nobody is notified: each sleeper sleeps to its own slot. A change drains the registry and
//! unparks everyone in schedule order.
//!
//! No wake-up is lost: a sleeper enters under the lock and only if the plan it made is still the current one; a change is
//! published before it takes the lock. So either the sleeper is in when the change drains, and is unparked, or it
//! comes later, and sees the change. Model: `no_wake_up_is_lost`.

use crate::sync::{Mutex, Unparker, yield_now};
use std::collections::BTreeMap;

/// So many are woken in one go.
const HERD: usize = 8;

/// Keyed by position, then by arrival.
type Registry = BTreeMap<(u64, u64), Unparker>;

#[derive(Debug)]
pub(crate) struct Sleepers(Mutex<(u64, Registry)>);

/// A place in the registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u64, u64);

impl Sleepers {
    pub(crate) fn new() -> Sleepers {
        Sleepers(Mutex::new((0, Registry::new())))
    }

    /// Enters a sleeper for the slot at `position`, unless its plan is outdated.
    pub(crate) fn enter(
        &self,
        position: u64,
        unparker: Unparker,
        is_current: impl Fn() -> bool,
    ) -> Option<Place> {
        let mut guard = self.0.lock();
        let (arrivals, registry) = &mut *guard;
        if !is_current() {
            return None;
        }
        *arrivals += 1;
        registry.insert((position, *arrivals), unparker);
        Some(Place(position, *arrivals))
    }

    pub(crate) fn leave(&self, place: Place) {
        self.0.lock().1.remove(&(place.0, place.1));
    }

    /// Wakes everyone, earliest slot first.
    pub(crate) fn wake_all(&self) {
        // Unparking is a system call: not under the lock that everyone it wakes wants next.
        let registry = std::mem::take(&mut self.0.lock().1);
        for (count, sleeper) in (1_usize..).zip(registry.values()) {
            sleeper.unpark();
            // Those who are awake make their plans before more come, or whoever starts first waits behind them all.
            if count.is_multiple_of(HERD) {
                yield_now();
            }
        }
    }
}
