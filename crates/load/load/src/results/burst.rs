//! Computes for how long a strictness above 1 would hold slots back if the generator had no delays of its own.
//!
//! With a strictness above 1, a slot may start when two moving bounds have both reached its intended start. The first
//! bound is the schedule. The second bound begins at a slot that starts late, and then advances at the speed of the
//! schedule multiplied by the strictness. In the pacer, the second bound also begins at slots that start late because
//! of the generator. In this module, the second bound is a [`BurstLine`], which begins only at slots that had to wait
//! for the target. All threads share one [`BurstLine`], because they share the schedule.

use nanopace::{Nanos, Strictness};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct BurstLine {
    ratio: f64,
    last: Last,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    intended: Nanos,
    /// The time at which the slot would have started if the generator had no delays.
    start: Nanos,
}

impl Last {
    fn reaches(self, intended: Nanos, ratio: f64) -> Nanos {
        self.start + (intended - self.intended).div_f64(ratio)
    }
}

impl BurstLine {
    pub(crate) fn new(strictness: Strictness) -> Option<BurstLine> {
        let last = Last { intended: Nanos::ZERO, start: Nanos::ZERO };
        let line = BurstLine { ratio: strictness.get(), last };
        (strictness.get() > Strictness::STRICT.get()).then_some(line)
    }

    /// Returns for how long a slot has been held back. The slot has not started, and has had a free connection since
    /// the time `free`.
    pub(crate) fn held(&self, intended: Nanos, free: Nanos, now: Nanos) -> Duration {
        self.last.reaches(intended, self.ratio).min(now) - free
    }

    /// Records the start of a slot, and returns for how long it was held back. The second bound then begins at this
    /// slot, unless a slot with a later intended start has already started.
    pub(crate) fn start(&mut self, intended: Nanos, free: Nanos, now: Nanos) -> Duration {
        let held = self.held(intended, free, now);
        if intended >= self.last.intended {
            self.last = Last { intended, start: free + held };
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos::from_nanos(ms * 1_000_000)
    }

    /// Returns for how long each slot is held back, in ms. A slot is due every 10 ms. Each pair contains the times of a
    /// free connection and of the start, in ms.
    fn held(slots: &[(u64, u64)]) -> Vec<u128> {
        let mut line = BurstLine::new(Strictness::new(2.0).unwrap()).unwrap();
        let slots = (0..).step_by(10).map(at).zip(slots);
        let held = slots.map(|(due, &(free, now))| line.start(due, due.max(at(free)), at(now)));
        held.map(|held| held.as_millis()).collect()
    }

    #[test]
    fn lateness_by_the_target_is_paid_back_at_the_ratio() {
        let slots = [(0, 0), (40, 40), (40, 45), (40, 50), (40, 55), (40, 60), (40, 65), (40, 70)];
        assert_eq!(held(&slots), [0, 0, 5, 10, 15, 10, 5, 0]);
    }

    #[test]
    fn slots_late_by_the_generator_are_not_held_back() {
        assert_eq!(held(&[(0, 0), (0, 40), (0, 45), (0, 50), (0, 55), (0, 60)]), [0; 6]);
        // A slot is held back only if the target, and not the generator, caused earlier lateness.
        let slots = [(0, 0), (40, 40), (40, 45), (40, 90), (40, 95), (40, 100)];
        assert_eq!(held(&slots), [0, 0, 5, 10, 15, 10]);
    }

    #[test]
    fn a_straggler_moves_nothing() {
        let mut line = BurstLine::new(Strictness::new(2.0).unwrap()).unwrap();
        for (due, free, held) in [(20, 40, 0), (10, 40, 0), (30, 40, 5), (40, 40, 10)] {
            let found = line.start(at(due), at(free), at(60));
            assert_eq!(found, Duration::from_millis(held), "{due}");
        }
    }

    #[test]
    fn no_other_strictness_has_one() {
        for strictness in [Strictness::AVERAGE, Strictness::STRICT] {
            assert!(BurstLine::new(strictness).is_none());
        }
    }
}
