//! Divides a load between two targets. Slots 0 and 1, slots 2 and 3, and so on are pairs, and each target gets one slot
//! of each pair. Both targets therefore get requests at about the same times.

use crate::load::data::order::mixed;
use nanopace::{Shard, ShardError};

/// The number of pairs after which the order within the pairs repeats. The number is prime, so that it is not a
/// multiple of a period of the load or of the targets.
const PAIRS: u32 = 32_749;

/// Divides the load into two halves. A hash of the seed and the number of the pair decides which half gets the first
/// slot of a pair.
pub(crate) fn halves(seed: u64) -> Result<[Shard; 2], ShardError> {
    let first = |pair: u32| 2 * pair + u32::from(is_swapped(seed, pair));
    let one: Vec<u32> = (0..PAIRS).map(first).collect();
    let other: Vec<u32> = one.iter().map(|slot| slot ^ 1).collect();
    Ok([Shard::of(2 * PAIRS, &one)?, Shard::of(2 * PAIRS, &other)?])
}

fn is_swapped(seed: u64, pair: u32) -> bool {
    mixed(mixed(seed) ^ u64::from(pair)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{Arrivals, Rate, Shape};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn slots(seed: u64, count: usize) -> [Vec<u64>; 2] {
        let shape = Shape::constant(Rate::per_second(1).unwrap());
        halves(seed).unwrap().map(|half| {
            let starts = Arrivals::even().starts(shape.clone(), half);
            starts.take(count).map(|start| start.as_secs()).collect()
        })
    }

    proptest! {
        #[test]
        fn each_pair_of_slots_is_divided(seed: u64) {
            let [one, other] = slots(seed, 3_000);
            for (pair, (one, other)) in (0..).zip(one.iter().zip(&other)) {
                prop_assert_eq!([one / 2, one ^ 1], [pair, *other]);
            }
        }
    }

    #[test]
    fn no_period_of_slots_falls_to_one_half() {
        let [one, _] = slots(7, 200_000);
        for period in 2..=64_u32 {
            let mut counts = BTreeMap::new();
            for slot in &one {
                *counts.entry(slot % u64::from(period)).or_insert(0.0) += 1.0;
            }
            let mean = 200_000.0 / f64::from(period);
            let is_near = |count: &f64| (count / mean - 1.0).abs() < 0.1;
            assert!(counts.values().all(is_near), "{counts:?}");
        }
    }
}
