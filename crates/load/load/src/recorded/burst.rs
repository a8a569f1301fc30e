//! Computes how long a burst ratio would hold slots back in a generator without any delay of its own.
//!
//! A late slot begins a second line, on which the schedule advances faster by the ratio; slots start when both lines
//! have reached them. The line of the pacer also begins at slots that are late because of the generator. This one
//! begins at slots that had to wait for the target. There is one for all threads, as for the schedule.

use nanopace::{Nanos, Strictness};
use std::time::Duration;

/// The second line.
#[derive(Debug)]
pub(crate) struct BurstLine {
    ratio: f64,
    last: Last,
}

/// The last slot that has started.
#[derive(Clone, Copy, Debug)]
struct Last {
    intended: Nanos,
    /// When the generator without delays would have started it.
    start: Nanos,
}

impl Last {
    fn reaches(self, intended: Nanos, ratio: f64) -> Nanos {
        self.start + (intended - self.intended).div_f64(ratio)
    }
}

impl BurstLine {
    /// The line of a strictness, if it has one.
    pub(crate) fn new(strictness: Strictness) -> Option<BurstLine> {
        let last = Last { intended: Nanos::ZERO, start: Nanos::ZERO };
        let line = BurstLine { ratio: strictness.get(), last };
        (strictness.get() > Strictness::STRICT.get()).then_some(line)
    }

    /// For how long a slot that has a connection since `free`, and waits at `now`, was held back.
    pub(crate) fn held(&self, intended: Nanos, free: Nanos, now: Nanos) -> Duration {
        self.last.reaches(intended, self.ratio).min(now) - free
    }

    /// For how long a slot that starts now was held back. Slots after it may start later because of it, unless
    /// one of them has started already.
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

    /// How long slots every 10 ms are held back by a ratio of 2, whose connections are free then, and
    /// which start then.
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
        // Slots are held back only for lateness that the target caused.
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
