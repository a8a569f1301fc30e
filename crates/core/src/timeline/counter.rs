//! Counts what has been claimed.

use crate::position::{SLOT, ticks_between};

/// Counts slots beyond the range of positions.
#[derive(Debug, Default)]
pub(super) struct SlotCounter {
    position: u64,
    slots: u64,
}

impl SlotCounter {
    /// The slots before `next`, the next position to be claimed. To be called before positions wrap
    /// around.
    pub(super) fn count(&mut self, next: u64) -> u64 {
        let slots = ticks_between(self.position, next) / SLOT.cast_signed();
        self.slots = self.slots.saturating_add_signed(slots);
        self.position = next;
        self.slots
    }
}
