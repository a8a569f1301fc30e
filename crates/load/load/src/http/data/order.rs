//! Which row a slot has: a function of its number, so that the parts of a load have the rows of one, and no
//! table is needed.

use super::args::DataOrder;

/// The order of rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    kind: DataOrder,
    count: u64,
    seed: u64,
}

impl Order {
    /// Of so many rows, of which there is at least one.
    pub(crate) fn new(kind: DataOrder, count: u64, seed: u64) -> Order {
        Order { kind, count, seed }
    }

    /// The row of a slot, counted from 0.
    pub(crate) fn row(&self, slot: u64) -> u64 {
        let (pass, place) = (slot / self.count, slot % self.count);
        match self.kind {
            DataOrder::Sequential => place,
            DataOrder::Shuffled => self.shuffled(mixed(self.seed ^ mixed(pass)), place),
            DataOrder::Random => below(mixed(mixed(self.seed) ^ slot), self.count),
        }
    }

    /// The row at a place of a pass. A Feistel network is a permutation of the numbers of so many bits,
    /// and those of them that are no rows are passed over (Black and Rogaway 2002, "cycle walking").
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

/// A permutation of the numbers with twice so many bits.
fn feistel(number: u64, half: u32, key: u64) -> u64 {
    let mask = (1 << half) - 1;
    let (mut left, mut right) = (number >> half, number & mask);
    for round in 0..6 {
        (left, right) = (right, left ^ mixed(key ^ mixed(right << 3 | round)) & mask);
    }
    left << half | right
}

/// A number from which nobody would guess the one it is made of, and which only that one gives: the end of
/// splitmix64.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A number below `end`, as even as makes no difference: of the 64 bits one number has at most `end` more
/// than another.
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
        fn rows_are_rows_however_many_there_are(count in 1..u64::MAX / 2, seed: u64, slot: u64) {
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
    fn a_shuffle_is_that_of_its_seed_and_pass() {
        let shuffled = |seed, number| pass(DataOrder::Shuffled, seed, number);
        assert_eq!(shuffled(7, 3), shuffled(7, 3));
        assert!(shuffled(7, 3) != shuffled(8, 3) && shuffled(7, 3) != shuffled(7, 4));
        assert!(!shuffled(7, 3).is_sorted());
        assert!(pass(DataOrder::Sequential, 7, 3).is_sorted());
    }

    /// Each of ten rows has its tenth of a million, and each place of a shuffle has each row as often.
    #[test]
    fn rows_are_as_often_as_each_other() {
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
