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

/// Keyed by position: a slot has one owner, who leaves before the slot gets another.
type Registry = BTreeMap<u64, Unparker>;

#[derive(Debug)]
pub(crate) struct Sleepers(Mutex<Registry>);

impl Sleepers {
    pub(crate) fn new() -> Sleepers {
        Sleepers(Mutex::new(Registry::new()))
    }

    /// Enters a sleeper for the slot at `position`; false when its plan is outdated.
    pub(crate) fn enter(&self, position: u64, unparker: Unparker, is_current: impl Fn() -> bool) -> bool {
        let mut registry = self.0.lock();
        if !is_current() {
            return false;
        }
        registry.insert(position, unparker);
        true
    }

    pub(crate) fn leave(&self, position: u64) {
        self.0.lock().remove(&position);
    }

    /// Wakes everyone, earliest slot first.
    pub(crate) fn wake_all(&self) {
        // Unparking is a system call: not under the lock that everyone it wakes wants next.
        let registry = std::mem::take(&mut *self.0.lock());
        for (count, sleeper) in (1_usize..).zip(registry.values()) {
            sleeper.unpark();
            // Those who are awake make their plans before more come, or whoever starts first waits behind them all.
            if count.is_multiple_of(HERD) {
                yield_now();
            }
        }
    }
}
