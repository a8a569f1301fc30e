//! Counts: how many slots a load has made by a moment, as fixed-point numbers.

/// Slots, with 64 bits for parts of one.
pub(crate) type Count = u128;
/// One slot.
pub(crate) const ONE: Count = 1 << 64;
