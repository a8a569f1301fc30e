//! Slots that were taken and given back, to be handed out again before any new one.

use crate::line::{SLOT, ticks_between};

/// Ranges of positions, in no order; as many as there are lanes that gave back at one time.
#[derive(Debug, Default)]
pub(super) struct Returned(Vec<(u64, u64)>);

impl Returned {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Slots in here.
    pub(super) fn slots(&self) -> u64 {
        self.0.iter().map(|&(start, end)| end.wrapping_sub(start) / SLOT).sum()
    }

    /// Of those, the ones at positions up to `reached`.
    pub(super) fn due_slots(&self, reached: u64) -> u64 {
        let due = |start: u64, end: u64| {
            let ticks = (ticks_between(start, reached) + SLOT.cast_signed()).min(ticks_between(start, end));
            ticks.max(0).unsigned_abs() / SLOT
        };
        self.0.iter().map(|&(start, end)| due(start, end)).sum()
    }

    pub(super) fn ranges(&self) -> &[(u64, u64)] {
        &self.0
    }

    pub(super) fn put(&mut self, start: u64, end: u64) {
        self.0.push((start, end));
    }

    fn earliest(&self) -> Option<usize> {
        let start = |&index: &usize| self.0[index].0;
        (0..self.0.len()).min_by(|a, b| 0.cmp(&ticks_between(start(a), start(b))))
    }

    /// The earliest slot.
    pub(super) fn first(&self) -> Option<u64> {
        self.earliest().map(|index| self.0[index].0)
    }

    /// Takes the earliest slot.
    pub(super) fn take_first(&mut self) -> Option<u64> {
        let index = self.earliest()?;
        let (start, end) = self.0[index];
        if start.wrapping_add(SLOT) == end {
            self.0.swap_remove(index);
        } else {
            self.0[index].0 = start.wrapping_add(SLOT);
        }
        Some(start)
    }

    /// Swaps `position` for the earliest slot, if that is earlier.
    pub(super) fn exchange(&mut self, position: u64) -> u64 {
        match self.first() {
            Some(first) if ticks_between(first, position) > 0 => {
                self.take_first();
                self.put(position, position.wrapping_add(SLOT));
                first
            }
            _ => position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_also_round_the_corner() {
        let before_zero = 0_u64.wrapping_sub(2 * SLOT);
        let mut returned = Returned::default();
        returned.put(SLOT, 3 * SLOT);
        returned.put(before_zero, 0);
        assert_eq!(returned.slots(), 4);
        assert_eq!(returned.exchange(0), before_zero);
        let order: Vec<u64> = std::iter::from_fn(|| returned.take_first()).collect();
        assert_eq!(order, [0_u64.wrapping_sub(SLOT), 0, SLOT, 2 * SLOT]);
        assert!(returned.is_empty());
    }
}
