//! Counts how often each slot was started.

use crate::fleet::start::Start;
use nanopace::{Arrivals, Shape, Shard};
use std::time::Duration;

const ROUNDING: Duration = Duration::from_nanos(5);

/// How often each slot of a load was started, according to the nodes' records.
#[derive(Clone, Debug)]
pub struct Truth {
    shape: Shape,
    /// The number of starts of each slot.
    pub times: Vec<u32>,
    /// The number of starts at an intended time at which no slot is due. Nodes make these starts if they have missed a
    /// change.
    pub strays: u64,
}

impl Truth {
    pub(crate) fn new<'a>(shape: Shape, starts: impl Iterator<Item = &'a Start>) -> Truth {
        let before = |moment| Arrivals::even().starts_before(moment, &shape, &whole());
        let slots = shape.duration().map_or(0, before);
        let mut times = vec![0; usize::try_from(slots).unwrap_or(usize::MAX)];
        let mut strays = 0;
        for Start { intended, .. } in starts {
            let slot = before(intended.saturating_sub(ROUNDING));
            let is_slot = before(*intended + ROUNDING) == slot + 1;
            match times.get_mut(usize::try_from(slot).unwrap_or(usize::MAX)).filter(|_| is_slot) {
                Some(times) => *times += 1,
                None => strays += 1,
            }
        }
        Truth { shape, times, strays }
    }

    /// Returns the number of slots that were never started.
    #[must_use]
    pub fn never(&self) -> u64 {
        self.never_of(u64::MAX)
    }

    /// Returns the number of slots that were never started, among the first `slots` slots.
    #[must_use]
    pub fn never_of(&self, slots: u64) -> u64 {
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        self.times.iter().take(slots).filter(|&&times| times == 0).count() as u64
    }

    /// Returns the number of starts of slots that had been started before.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.times.iter().map(|&times| u64::from(times.saturating_sub(1))).sum()
    }

    /// Returns the number of slots that were due between `from` and `until` and were never started.
    #[must_use]
    pub fn never_between(&self, from: Duration, until: Duration) -> u64 {
        let slot = |moment| {
            let slot = Arrivals::even().starts_before(moment, &self.shape, &whole());
            usize::try_from(slot).unwrap_or(usize::MAX).min(self.times.len())
        };
        self.times[slot(from)..slot(until)].iter().filter(|&&times| times == 0).count() as u64
    }
}

fn whole() -> Shard {
    Shard::of(1, &[0]).expect("a shard that is the whole load")
}
