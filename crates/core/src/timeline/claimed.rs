//! What a caller has claimed.

use crate::position::after;

/// A slot, or several in a row, that a caller has claimed and not started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) position: u64,
    pub(crate) slots: u64,
    /// Whether it stays this one, even if an earlier one comes back.
    pub(crate) is_fixed: bool,
    /// Whether it is among those that are known to be [`Held`](super::held::Held).
    pub(crate) is_entered: bool,
}

impl Claimed {
    /// A single slot is exchanged for an earlier one that comes back; several in a row are not.
    pub(super) fn new(position: u64, slots: u64) -> Claimed {
        Claimed { position, slots, is_fixed: slots > 1, is_entered: false }
    }

    pub(crate) fn end(&self) -> u64 {
        after(self.position, self.slots)
    }
}
