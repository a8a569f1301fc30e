//! Defines positions: the axis on which slots are placed.
//!
//! Every slot is [`SLOT`] ticks long at every rate. The rate only sets how long a tick lasts. A slot's position is
//! therefore its number among the process's own slots times [`SLOT`], and never changes. Positions wrap around, and are
//! compared by their differences.

use std::collections::BTreeMap;

/// The length of a slot in ticks. Ticks allow a piece of the schedule to begin between two slots.
pub(crate) const SLOT: u64 = 1 << 16;

/// The maximum distance of a position on a line from the line's anchor, in ticks: 2^46 slots. Differences of positions
/// are unambiguous only up to half of all positions, which is twice this distance.
pub(crate) const REACH: i64 = 1 << 62;

/// The maximum number of ticks by which a slot may be late or early on the schedule: 2^44 slots.
pub(crate) const RANGE: i64 = REACH / 4;

pub(crate) const fn ticks_between(a: u64, b: u64) -> i64 {
    b.wrapping_sub(a).cast_signed()
}

pub(crate) const fn after(position: u64, slots: u64) -> u64 {
    position.wrapping_add(slots.wrapping_mul(SLOT))
}

pub(crate) const fn before(position: u64) -> u64 {
    position.wrapping_sub(SLOT)
}

pub(crate) const fn first_after(position: u64) -> u64 {
    (position | (SLOT - 1)).wrapping_add(1)
}

pub(crate) const fn slots_between(start: u64, end: u64) -> u64 {
    let ticks = ticks_between(start, end);
    if ticks > 0 { ticks.unsigned_abs() / SLOT } else { 0 }
}

pub(crate) const fn later(a: u64, b: u64) -> u64 {
    if ticks_between(a, b) > 0 { b } else { a }
}

pub(crate) const fn earlier(a: u64, b: u64) -> u64 {
    if ticks_between(a, b) > 0 { a } else { b }
}

/// Returns the last entry at or before `to` in the order of positions, which wrap around.
pub(crate) fn last_up_to<T>(map: &BTreeMap<u64, T>, to: u64) -> Option<(&u64, &T)> {
    let found = map.range(..=to).next_back().or_else(|| map.last_key_value());
    found.filter(|(start, _)| ticks_between(**start, to) >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_wraps_around() {
        let last = 0_u64.wrapping_sub(SLOT);
        assert_eq!((before(0), after(last, 2)), (last, SLOT));
        assert_eq!((earlier(last, 0), later(last, 0)), (last, 0));
        assert_eq!((slots_between(last, SLOT), slots_between(SLOT, last)), (2, 0));
    }

    #[test]
    fn the_first_slot_after_a_position_is_never_at_it() {
        for (position, first) in
            [(0, SLOT), (1, SLOT), (SLOT - 1, SLOT), (SLOT, 2 * SLOT), (u64::MAX, 0)]
        {
            assert_eq!(first_after(position), first, "{position}");
        }
    }
}
