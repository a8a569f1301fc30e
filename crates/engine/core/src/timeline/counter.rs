//! Counts how many slots have been claimed.

use crate::position::{SLOT, ticks_between};

/// Counts slots, also when positions wrap around.
#[derive(Debug, Default)]
pub(super) struct SlotCounter {
    position: u64,
    slots: u64,
}

impl SlotCounter {
    /// How many slots have been claimed in all, when `next` is the next position to be claimed. It must not be more
    /// than half of all positions away from that of the last call.
    pub(super) fn count(&mut self, next: u64) -> u64 {
        let slots = ticks_between(self.position, next) / SLOT.cast_signed();
        self.slots = self.slots.saturating_add_signed(slots);
        self.position = next;
        self.slots
    }
}
