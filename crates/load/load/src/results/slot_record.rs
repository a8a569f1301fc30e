//! Records single slots: the slowest ones, and how long repeated slots and the others took.
//!
//! Slow means a long service time, because the request has no effect on the lateness of its start.

use super::operation::Operation;
use super::percentiles::record;
use crate::load::repeats::Repeats;
use hdrhistogram::Histogram;
use nanopace::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct SlotRecord {
    most: usize,
    pub(crate) repeats: Option<Arc<Repeats>>,
    /// The number of requests so far.
    pub(crate) requests: u64,
    /// The starts and results of the slowest slots, by their service times and numbers.
    slowest: BTreeMap<(Duration, u64), (Nanos, Operation)>,
    pub(crate) repeated: Histogram<u64>,
    pub(crate) others: Histogram<u64>,
}

impl SlotRecord {
    /// Keeps at most `most` slow slots.
    pub(crate) fn new(most: usize, repeats: Option<Arc<Repeats>>) -> SlotRecord {
        let others = Histogram::new(3).expect("3 is a number of digits");
        let (slowest, repeated) = (BTreeMap::new(), others.clone());
        SlotRecord { most, repeats, requests: 0, slowest, repeated, others }
    }

    pub(crate) fn add(&mut self, slot: u64, start: Nanos, operation: &Operation) {
        let (service, mut source) = (operation.service_time(), slot);
        self.requests += 1;
        if let Some(repeats) = &self.repeats {
            source = repeats.source(slot);
            match repeats.is_repeated(slot) {
                Some(true) => record(&mut self.repeated, service, 1),
                Some(false) => record(&mut self.others, service, 1),
                None => {}
            }
        }
        self.keep((service, source), (start, *operation));
    }

    fn keep(&mut self, key: (Duration, u64), result: (Nanos, Operation)) {
        let is_slower = |(fastest, _): (&(Duration, u64), _)| *fastest < key;
        if self.slowest.len() < self.most || self.slowest.first_key_value().is_some_and(is_slower) {
            self.slowest.insert(key, result);
        }
        if self.slowest.len() > self.most {
            self.slowest.pop_first();
        }
    }

    pub(crate) fn merge(mut self, other: SlotRecord) -> SlotRecord {
        self.requests += other.requests;
        self.repeated += &other.repeated;
        self.others += &other.others;
        other.slowest.into_iter().for_each(|(key, result)| self.keep(key, result));
        self
    }

    /// Returns the slots with the longest service times, the slowest one first, with their starts and results.
    pub(crate) fn slowest(&self) -> impl Iterator<Item = (u64, Nanos, &Operation)> {
        self.slowest.iter().rev().map(|((_, slot), (start, operation))| (*slot, *start, operation))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::results::operation::Answer;
    use proptest::prelude::*;

    pub(crate) fn took(service: Duration) -> Operation {
        let (intended_start, end) = (Nanos::ZERO, Nanos::ZERO + service);
        Operation { intended_start, end, answer: Answer::completed(intended_start) }
    }

    proptest! {
        #[test]
        fn all_threads_together_keep_the_slowest(
            times in prop::collection::vec((0_usize..3, 0_u64..50), 0..60),
            most in 0_usize..20,
        ) {
            let mut threads = vec![SlotRecord::new(most, None); 3];
            for (slot, (thread, ns)) in (0..).zip(&times) {
                threads[*thread].add(slot, Nanos::ZERO, &took(Duration::from_nanos(*ns)));
            }
            let all = threads.into_iter().reduce(SlotRecord::merge).unwrap();
            let mut slots: Vec<_> = (0..times.len()).collect();
            slots.sort_unstable_by_key(|slot| (times[*slot].1, *slot));
            let expected = slots.into_iter().rev().take(most).map(|slot| slot as u64);
            prop_assert!(all.slowest().map(|(slot, ..)| slot).eq(expected));
        }
    }
}
