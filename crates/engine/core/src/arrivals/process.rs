//! Computes the counts of the slots of an arrival process.

use super::exact::ExactPoisson;
use super::jitter::Jitter;
use super::renewal::Renewal;
use super::replay::Replay;
use super::tree::MOST;
use super::{Arrivals, Kind};
use crate::count::{Count, ONE};
use std::cell::RefCell;

#[derive(Debug)]
pub(crate) struct Process(RefCell<Source>);

#[derive(Debug)]
enum Source {
    Even,
    Renewal(Renewal),
    ExactPoisson(ExactPoisson),
    Jitter(Jitter),
    Replay(Replay),
}

impl Arrivals {
    pub(crate) fn process(&self) -> Process {
        Process(RefCell::new(match &self.0 {
            Kind::Even => Source::Even,
            &Kind::Gamma { shape, seed } => Source::Renewal(Renewal::new(shape, seed)),
            &Kind::ExactPoisson { slots, seed } => {
                Source::ExactPoisson(ExactPoisson::new(slots, seed))
            }
            &Kind::Jitter { part, seed } => Source::Jitter(Jitter::new(part, seed)),
            Kind::Replay(recording) => Source::Replay(recording.open()),
        }))
    }
}

impl Process {
    pub(crate) fn is_endless(&self) -> bool {
        !matches!(*self.0.borrow(), Source::Replay(_))
    }

    /// The count never decreases from one slot to the next.
    #[inline]
    pub(crate) fn count_of(&self, slot: u64) -> Option<Count> {
        let mut state = self.0.borrow_mut();
        if let Source::Replay(replay) = &mut *state {
            return replay.count_of(slot);
        }
        (slot < MOST).then(|| match &mut *state {
            Source::Renewal(renewal) => renewal.count_of(slot),
            Source::ExactPoisson(exact) => exact.count_of(slot),
            Source::Jitter(jitter) => jitter.count_of(slot),
            Source::Even | Source::Replay(_) => Count::from(slot) * ONE,
        })
    }

    /// For a replay, the result is at most the limit that [`read_ahead`](Process::read_ahead) sets.
    pub(crate) fn slots_by(&self, count: Count) -> u64 {
        let slots = match &mut *self.0.borrow_mut() {
            Source::Even => u64::try_from(count / ONE).unwrap_or(u64::MAX).saturating_add(1),
            Source::Renewal(renewal) => renewal.slots_by(count),
            Source::ExactPoisson(exact) => exact.slots_by(count),
            Source::Jitter(jitter) => jitter.slots_by(count),
            Source::Replay(replay) => replay.slots_by(count),
        };
        slots.min(MOST)
    }

    pub(crate) fn is_known_until(&self, count: Count) -> bool {
        match &mut *self.0.borrow_mut() {
            Source::Replay(replay) => replay.is_known_until(count),
            _ => true,
        }
    }

    pub(crate) fn read_ahead(&self, slot: u64) -> bool {
        match &mut *self.0.borrow_mut() {
            Source::Replay(replay) => replay.read_ahead(slot),
            _ => false,
        }
    }

    pub(crate) fn remembers_many_before(&self, slot: u64) -> bool {
        matches!(&*self.0.borrow(), Source::Replay(replay) if replay.remembers_many_before(slot))
    }

    pub(crate) fn forget_before(&self, slot: u64) {
        if let Source::Replay(replay) = &mut *self.0.borrow_mut() {
            replay.forget_before(slot);
        }
    }
}
