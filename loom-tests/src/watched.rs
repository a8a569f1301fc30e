//! Implements a clock that counts how often callers wait on it.

use loom::sync::atomic::{AtomicUsize, Ordering};
use nanopace::{Clock, ManualClock, Nanos, Parker};
use std::sync::Arc;

/// A manual clock that counts sleeps and rounds of spinning. It reports that it is real, because on any other clock the
/// hybrid pause never sleeps.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The clock that the model moves.
    pub manual: ManualClock,
    slept: Arc<AtomicUsize>,
    spun: Arc<AtomicUsize>,
}

impl Watched {
    /// Returns the number of sleeps that have begun.
    #[must_use]
    pub fn slept(&self) -> usize {
        self.slept.load(Ordering::Acquire)
    }

    /// Returns the number of rounds of spinning.
    #[must_use]
    pub fn spun(&self) -> usize {
        self.spun.load(Ordering::Acquire)
    }

    /// Waits until the counter has reached `count`.
    pub fn wait_for(&self, counter: fn(&Watched) -> usize, count: usize) {
        while counter(self) < count {
            loom::thread::yield_now();
        }
    }
}

impl Clock for Watched {
    fn now(&self) -> Nanos {
        self.manual.now()
    }

    fn park(&self, parker: &Parker, until: Nanos) {
        self.slept.fetch_add(1, Ordering::Release);
        self.manual.park(parker, until);
    }

    fn relax(&self, now: Nanos, until: Nanos) {
        self.spun.fetch_add(1, Ordering::Release);
        self.manual.relax(now, until);
    }
}
