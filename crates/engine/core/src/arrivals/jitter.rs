//! Computes evenly spaced slots, each of which is delayed by a random part of a gap.

use super::random::{Key, Use};
use super::tree::{fraction, part};
use crate::count::{Count, ONE};

const BLOCK: u64 = 32;

#[derive(Debug)]
pub(super) struct Jitter {
    part: Count,
    key: Key,
    block: Option<u64>,
    numbers: Vec<u64>,
}

impl Jitter {
    pub(super) fn new(part: f64, seed: u64) -> Jitter {
        let part = if part < 1.0 { Count::from(fraction(part)) } else { ONE };
        let key = Key { seed, of: Use::Jitter, run: 0 };
        Jitter { part, key, block: None, numbers: Vec::new() }
    }

    /// Returns the time from the start to the slot, in mean intervals.
    pub(super) fn count_of(&mut self, slot: u64) -> Count {
        Count::from(slot) * ONE + part(self.part, self.number(slot))
    }

    pub(super) fn slots_by(&mut self, count: Count) -> u64 {
        let slot = u64::try_from(count / ONE).unwrap_or(u64::MAX);
        slot.saturating_add(u64::from(self.count_of(slot) <= count))
    }

    fn number(&mut self, slot: u64) -> u64 {
        let (block, index) = place(slot);
        if self.block != Some(block) {
            let mut numbers = self.key.numbers(0, block);
            self.numbers.clear();
            self.numbers.extend((0..BLOCK).map(|_| numbers.bits()));
            self.block = Some(block);
        }
        self.numbers[index]
    }
}

fn place(slot: u64) -> (u64, usize) {
    (slot / BLOCK, usize::try_from(slot % BLOCK).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_slots_have_numbers_of_their_own() {
        for first in [0, 1 << 32, (1 << 40) + 7 * BLOCK, u64::MAX - BLOCK + 1] {
            let mut jitter = Jitter::new(1.0, 5);
            let mut block = jitter.key.numbers(0, first / BLOCK);
            for slot in first..=first + (BLOCK - 1) {
                assert_eq!(jitter.number(slot), block.bits(), "{slot}");
            }
        }
    }
}
