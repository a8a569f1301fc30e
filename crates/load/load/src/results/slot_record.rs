//! Records the slowest slots of a run, and the service times of slots that repeat requests and of all others.
//!
//! The slowest slots are those with the longest service times. Response times would include the lateness of starts,
//! which does not depend on the request.

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
    pub(crate) requests: u64,
    /// The slowest slots, sorted by service time and slot number. A slot that repeats a request is recorded under
    /// the number of the slot that sent this request in the earlier run.
    slowest: BTreeMap<(Duration, u64), (Nanos, Operation)>,
    pub(crate) repeated: Group,
    /// The repeated requests that were among the five slowest of the earlier run.
    pub(crate) slowest_repeated: Group,
    pub(crate) others: Group,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) service: Histogram<u64>,
    pub(crate) failed: u64,
}

impl Group {
    fn new() -> Group {
        Group { service: Histogram::new(3).expect("3 is a valid number of digits"), failed: 0 }
    }

    fn add(&mut self, operation: &Operation) {
        match operation.answer.outcome {
            Ok(()) => record(&mut self.service, operation.service_time(), 1),
            Err(_) => self.failed += 1,
        }
    }

    fn merge(&mut self, other: &Group) {
        self.service += &other.service;
        self.failed += other.failed;
    }
}

impl SlotRecord {
    pub(crate) fn new(most: usize, repeats: Option<Arc<Repeats>>) -> SlotRecord {
        let [repeated, slowest_repeated, others] = [(); 3].map(|()| Group::new());
        let slowest = BTreeMap::new();
        SlotRecord { most, repeats, requests: 0, slowest, repeated, slowest_repeated, others }
    }

    pub(crate) fn add(&mut self, slot: u64, start: Nanos, operation: &Operation) {
        let (service, mut source) = (operation.service_time(), slot);
        self.requests += 1;
        if let Some(repeats) = &self.repeats {
            source = repeats.source(slot);
            match repeats.is_repeated(slot) {
                Some(true) => {
                    self.repeated.add(operation);
                    if repeats.is_slowest(source) {
                        self.slowest_repeated.add(operation);
                    }
                }
                Some(false) => self.others.add(operation),
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
        self.repeated.merge(&other.repeated);
        self.slowest_repeated.merge(&other.slowest_repeated);
        self.others.merge(&other.others);
        other.slowest.into_iter().for_each(|(key, result)| self.keep(key, result));
        self
    }

    /// Returns the slowest slots, beginning with the slowest one.
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
