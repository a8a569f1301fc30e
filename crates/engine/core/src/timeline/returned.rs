//! Stores slots that were claimed and given back. They are handed out again before any new slot, except to a row.

use crate::position::{REACH, SLOT, after, slots_between, ticks_between};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Returned {
    /// The position of each range's first slot, and the position after its last one, both in ticks after `origin`.
    ranges: BTreeMap<u64, u64>,
    /// A position far before all slots that can be stored at one time, so that their order does not wrap around.
    origin: u64,
    slots: u64,
}

impl Returned {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    pub(super) fn due_slots(&self, reached: u64) -> u64 {
        let due = |(start, end): (u64, u64)| {
            let reached = ticks_between(start, reached).saturating_add(SLOT.cast_signed());
            let ticks = reached.min(ticks_between(start, end));
            ticks.max(0).unsigned_abs() / SLOT
        };
        self.ranges().map(due).sum()
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let position = |key: u64| self.origin.wrapping_add(key);
        self.ranges.iter().map(move |(&start, &end)| (position(start), position(end)))
    }

    /// A range that ends at `from` also counts, as in [`Held`](super::held::Held).
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        let [from, to] = [from, to].map(|position| ticks_between(self.origin, position));
        let Ok(to) = u64::try_from(to) else { return false };
        let last = self.ranges.range(..=to).next_back();
        last.is_some_and(|(_, &end)| end.cast_signed() >= from)
    }

    pub(super) fn put(&mut self, start: u64, end: u64) {
        if self.ranges.is_empty() {
            self.origin = start.wrapping_add_signed(-REACH);
        }
        self.slots += slots_between(start, end);
        let (mut start, mut end) = (start.wrapping_sub(self.origin), end.wrapping_sub(self.origin));
        if let Some((&previous_start, &previous_end)) = self.ranges.range(..start).next_back()
            && previous_end == start
        {
            self.ranges.remove(&previous_start);
            start = previous_start;
        }
        if let Some(next_end) = self.ranges.remove(&end) {
            end = next_end;
        }
        self.ranges.insert(start, end);
    }

    fn earliest_range(&self) -> Option<(u64, u64)> {
        self.ranges().next()
    }

    pub(super) fn earliest(&self) -> Option<u64> {
        self.earliest_range().map(|(start, _)| start)
    }

    pub(super) fn nth(&self, slots: u64) -> Option<u64> {
        let mut left = slots;
        self.ranges().find_map(|(start, end)| {
            let here = slots_between(start, end);
            let found = (left < here).then(|| after(start, left));
            left = left.saturating_sub(here);
            found
        })
    }

    pub(super) fn last_range(&self) -> Option<(u64, u64)> {
        let (&start, &end) = self.ranges.last_key_value()?;
        Some((self.origin.wrapping_add(start), self.origin.wrapping_add(end)))
    }

    pub(super) fn take_earliest(&mut self) -> Option<u64> {
        let (start, end) = self.ranges.pop_first()?;
        self.slots -= 1;
        if start + SLOT < end {
            self.ranges.insert(start + SLOT, end);
        }
        Some(self.origin.wrapping_add(start))
    }

    pub(super) fn take_last_range(&mut self) {
        if let Some((start, end)) = self.ranges.pop_last() {
            self.slots -= (end - start) / SLOT;
        }
    }

    pub(super) fn take_before(&mut self, position: u64) -> u64 {
        let mut taken = 0;
        while let Some((start, end)) = self.earliest_range()
            && ticks_between(start, position) > 0
        {
            self.ranges.pop_first();
            let all = slots_between(start, end);
            let here = all.min(ticks_between(start, position).unsigned_abs().div_ceil(SLOT));
            self.slots -= all;
            taken += here;
            if here < all {
                self.put(after(start, here), end);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_earliest_comes_first_even_where_positions_wrap_around() {
        let before_zero = 0_u64.wrapping_sub(2 * SLOT);
        let mut returned = Returned::default();
        returned.put(SLOT, 3 * SLOT);
        returned.put(before_zero, 0);
        assert_eq!((returned.slots(), returned.last_range()), (4, Some((SLOT, 3 * SLOT))));
        let order: Vec<u64> = std::iter::from_fn(|| returned.take_earliest()).collect();
        assert_eq!(order, [before_zero, 0_u64.wrapping_sub(SLOT), SLOT, 2 * SLOT]);
        assert!(returned.is_empty());
    }

    #[test]
    fn neighbours_become_one() {
        let mut returned = Returned::default();
        for slot in (1..100_u64).step_by(2).chain((0..100).step_by(2)) {
            returned.put(slot * SLOT, (slot + 1) * SLOT);
        }
        assert_eq!(returned.ranges().collect::<Vec<_>>(), [(0, 100 * SLOT)]);
    }

    proptest! {
        #[test]
        fn it_does_what_a_set_does(steps in prop::collection::vec((0_u64..64, 1_u64..4, 0_u8..5), 1..200)) {
            let (mut returned, mut set) = (Returned::default(), BTreeSet::new());
            for (slot, slots, what) in steps {
                match what {
                    0 => prop_assert_eq!(returned.take_earliest(), set.pop_first().map(|slot| slot * SLOT)),
                    1 => {
                        let behind = set.split_off(&slot);
                        prop_assert_eq!(returned.take_before(slot * SLOT), set.len() as u64);
                        set = behind;
                    }
                    2 => {
                        if let Some((start, end)) = returned.last_range() {
                            returned.take_last_range();
                            (start / SLOT..end / SLOT).for_each(|slot| assert!(set.remove(&slot)));
                        }
                    }
                    _ if (slot..slot + slots).all(|slot| !set.contains(&slot)) => {
                        returned.put(slot * SLOT, (slot + slots) * SLOT);
                        set.extend(slot..slot + slots);
                    }
                    _ => {}
                }
                prop_assert_eq!(returned.slots(), set.len() as u64);
                let near = |&other: &u64| other <= slot + slots && slot <= other + 1;
                let has = returned.has(slot * SLOT, (slot + slots) * SLOT);
                prop_assert_eq!(has, set.iter().any(near));
                prop_assert_eq!(returned.earliest(), set.first().map(|slot| slot * SLOT));
                prop_assert_eq!(returned.due_slots(slot * SLOT), set.range(..=slot).count() as u64);
            }
        }
    }
}
