//! What a caller has claimed, and why the hot path may have granted it nothing.

use crate::position::after;

/// A slot, or several in a row, that a caller has claimed and not started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) position: u64,
    pub(crate) slots: u64,
    /// Whether the slots have been entered in [`Held`](super::held::Held).
    pub(crate) is_entered: bool,
}

impl Claimed {
    pub(crate) fn new(position: u64, slots: u64) -> Claimed {
        Claimed { position, slots, is_entered: false }
    }

    /// The position after the last of these slots.
    pub(crate) fn end(&self) -> u64 {
        after(self.position, self.slots)
    }
}

/// Why the hot path has granted no slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotGranted {
    /// The slot at this position is now claimed for the caller, but it is not known to be due.
    Claimed(u64),
    /// Nothing is claimed.
    NotClaimed,
}
