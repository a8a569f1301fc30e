//! How many threads may spin at once.

use crate::sync::{AtomicU64, Relaxed};
use std::sync::OnceLock;
use std::thread;

/// As many turns as there are processors: threads that spin beyond that only keep each other off.
#[derive(Debug)]
pub(super) struct Turns {
    taken: AtomicU64,
    most: u64,
}

/// Held by a thread while it spins.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { taken: AtomicU64::new(0), most: processors() }
    }

    pub(super) fn take(&self) -> Option<Turn<'_>> {
        let one_more = |taken| (taken < self.most).then_some(taken + 1);
        // Relaxed: a count, raised from the value that was compared; its partner is itself, in other threads. No model: who gets
        // no turn sleeps, so all that depends on it is how exact a start is.
        self.taken.fetch_update(Relaxed, Relaxed, one_more).is_ok().then_some(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Relaxed: as in `take`.
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// That the process may use; asked once, because the answer is read from files.
fn processors() -> u64 {
    static PROCESSORS: OnceLock<u64> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, |count| count.get() as u64))
}
