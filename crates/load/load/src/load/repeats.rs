//! Chooses which slots of a run repeat the slow requests of an earlier run.

use super::data::order::mixed;
use std::collections::HashSet;

/// The minimum number of slots per repeated request: at most a tenth of the slots repeat a request.
const LEAST_STRIDE: u64 = 10;
/// The number of the slowest requests that are also counted on their own.
const SLOWEST: usize = 5;

/// The requests that a run repeats, identified by their slots in an earlier run. In each block of `stride` slots, one
/// random slot repeats a request.
#[derive(Debug)]
pub(crate) struct Repeats {
    /// The slots of the earlier run, in random order.
    slots: Vec<u64>,
    known: HashSet<u64>,
    slowest: Vec<u64>,
    stride: u64,
    seed: u64,
}

impl Repeats {
    /// Creates the repeats of the requests of `slots`, the slowest first. There must be at least one. Each request is repeated once per
    /// `requests` slots. If this would exceed the limit of [`LEAST_STRIDE`], the requests are repeated less often.
    pub(crate) fn new(mut slots: Vec<u64>, requests: u64, seed: u64) -> Repeats {
        let slowest = slots.iter().take(SLOWEST).copied().collect();
        slots.sort_unstable_by_key(|slot| mixed(seed ^ mixed(*slot)));
        slots.dedup();
        let stride = (requests / slots.len() as u64).max(LEAST_STRIDE);
        Repeats { known: slots.iter().copied().collect(), slots, slowest, stride, seed }
    }

    pub(crate) fn source(&self, number: u64) -> u64 {
        self.repeated_by(number).unwrap_or(number)
    }

    fn repeated_by(&self, number: u64) -> Option<u64> {
        let (turn, place) = (number / self.stride, number % self.stride);
        let is_chosen = place == mixed(self.seed ^ mixed(turn)) % self.stride;
        let index = usize::try_from(turn % self.slots.len() as u64).unwrap_or_default();
        is_chosen.then(|| self.slots[index])
    }

    /// Returns whether the slot of the earlier run is one of its five slowest.
    pub(crate) fn is_slowest(&self, source: u64) -> bool {
        self.slowest.contains(&source)
    }

    /// Returns whether the slot repeats a request. Returns `None` for a slot that was slow in the earlier run and sends
    /// its own request.
    pub(crate) fn is_repeated(&self, number: u64) -> Option<bool> {
        let is_repeated = self.source(number) != number;
        (is_repeated || !self.known.contains(&number)).then_some(is_repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_many_slots_as_before_repeat_each_slot_once(
            slots in prop::collection::btree_set(0_u64..1_000_000, 1..50),
            stride in LEAST_STRIDE..100,
            turns_before in 0_u64..1_000,
            seed: u64,
        ) {
            let requests = slots.len() as u64 * stride;
            let repeats = Repeats::new(slots.iter().copied().collect(), requests, seed);
            let load = turns_before * stride..turns_before * stride + requests;
            let mut repeated: Vec<_> = load.filter_map(|slot| repeats.repeated_by(slot)).collect();
            repeated.sort_unstable();
            prop_assert!(repeated.into_iter().eq(slots));
        }
    }

    #[test]
    fn a_slow_slot_at_its_old_place_is_in_neither_group() {
        let repeats = Repeats::new((0..5).chain(0..5).collect(), 60, 7);
        let count = |of| (0..120).filter(|slot| repeats.is_repeated(*slot) == of).count();
        let counts = [Some(true), Some(false), None].map(count);
        let moved = (0..5).filter(|slot| repeats.source(*slot) != *slot).count();
        assert_eq!(counts, [10, 120 - 10 - (5 - moved), 5 - moved]);
    }
}
