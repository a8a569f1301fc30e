//! Chooses the row of a slot. The row depends only on the number of the slot and on the seed, so all shards of a load
//! choose the same row for a slot without a shared table.

use super::args::DataOrder;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    kind: DataOrder,
    count: u64,
    seed: u64,
    pub(super) slots_per_row: u64,
}

impl Order {
    /// Creates the order of `count` rows. `count` must not be 0.
    pub(crate) fn new(kind: DataOrder, count: u64, seed: u64) -> Order {
        Order { kind, count, seed, slots_per_row: 1 }
    }

    pub(crate) fn row(&self, slot: u64) -> u64 {
        let slot = slot / self.slots_per_row;
        let (pass, place) = (slot / self.count, slot % self.count);
        match self.kind {
            DataOrder::Sequential => place,
            DataOrder::Shuffled => self.shuffled(mixed(self.seed ^ mixed(pass)), place),
            DataOrder::Random => below(mixed(mixed(self.seed) ^ slot), self.count),
        }
    }

    /// Returns the row at a place in a pass. The key of the pass selects a permutation of the rows. A Feistel network
    /// permutes all numbers with a fixed number of bits. A result that is not the index of a row is permuted again
    /// (Black and Rogaway 2002, "cycle walking").
    fn shuffled(&self, key: u64, place: u64) -> u64 {
        let bits = u64::BITS - (self.count - 1).leading_zeros();
        let half = bits.div_ceil(2).max(1);
        let mut row = feistel(place, half, key);
        while row >= self.count {
            row = feistel(row, half, key);
        }
        row
    }
}

/// Permutes the integers of `2 * half` bits.
fn feistel(number: u64, half: u32, key: u64) -> u64 {
    let mask = (1 << half) - 1;
    let (mut left, mut right) = (number >> half, number & mask);
    for round in 0..6 {
        (left, right) = (right, left ^ mixed(key ^ mixed(right << 3 | round)) & mask);
    }
    left << half | right
}

/// Performs one step of splitmix64, which is a bijection.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Maps a number to a number below `end`. The result is almost uniform: over all 2^64 inputs, the counts of any two
/// results differ by at most one.
fn below(number: u64, end: u64) -> u64 {
    let below = (u128::from(number) * u128::from(end)) >> 64;
    u64::try_from(below).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pass_has_each_row_once(count in 1_u64..3_000, seed: u64, pass in 0_u64..1_000) {
            for order in [DataOrder::Sequential, DataOrder::Shuffled] {
                let order = Order::new(order, count, seed);
                let first = pass * count;
                let mut rows: Vec<_> = (first..first + count).map(|slot| order.row(slot)).collect();
                rows.sort_unstable();
                prop_assert!(rows.into_iter().eq(0..count));
            }
        }

        #[test]
        fn each_row_is_below_the_count(count in 1..u64::MAX / 2, seed: u64, slot: u64) {
            for order in [DataOrder::Sequential, DataOrder::Shuffled, DataOrder::Random] {
                prop_assert!(Order::new(order, count, seed).row(slot) < count);
            }
        }
    }

    fn pass(order: DataOrder, seed: u64, pass: u64) -> Vec<u64> {
        let order = Order::new(order, 100, seed);
        (pass * 100..(pass + 1) * 100).map(|slot| order.row(slot)).collect()
    }

    #[test]
    fn a_shuffle_depends_on_its_seed_and_pass() {
        let shuffled = |seed, number| pass(DataOrder::Shuffled, seed, number);
        assert_eq!(shuffled(7, 3), shuffled(7, 3));
        assert!(shuffled(7, 3) != shuffled(8, 3) && shuffled(7, 3) != shuffled(7, 4));
        assert!(!shuffled(7, 3).is_sorted());
        assert!(pass(DataOrder::Sequential, 7, 3).is_sorted());
    }

    #[test]
    fn all_rows_are_equally_frequent() {
        let random = Order::new(DataOrder::Random, 10, 1);
        let mut times = [0_u64; 10];
        (0..1_000_000).for_each(|slot| times[usize::try_from(random.row(slot)).unwrap()] += 1);
        assert!(times.iter().all(|times| times.abs_diff(100_000) < 1_500), "{times:?}");
        let shuffled = Order::new(DataOrder::Shuffled, 10, 1);
        let mut times = [[0_u64; 10]; 10];
        for slot in 0..1_000_000 {
            let (place, row) = (slot % 10, shuffled.row(slot));
            times[usize::try_from(place).unwrap()][usize::try_from(row).unwrap()] += 1;
        }
        let is_even = |times: &u64| times.abs_diff(10_000) < 600;
        assert!(times.iter().flatten().all(is_even), "{times:?}");
    }
}
