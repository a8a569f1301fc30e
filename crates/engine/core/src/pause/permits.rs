//! Limits how many threads of one pacer spin at once under [`Pause::Hybrid`](super::Pause::Hybrid) to the number of
//! processors. More threads would keep each other from running.

use crate::sync::{AtomicU64, Relaxed};
use std::sync::OnceLock;
use std::thread;

#[derive(Debug)]
pub(super) struct SpinPermits {
    taken: AtomicU64,
    most: u64,
}

#[derive(Debug)]
pub(super) struct SpinPermit<'a>(&'a SpinPermits);

impl SpinPermits {
    pub(super) fn new() -> SpinPermits {
        SpinPermits { taken: AtomicU64::new(0), most: processors() }
    }

    pub(super) fn take(&self) -> Option<SpinPermit<'_>> {
        let one_more = |taken| if taken < self.most { Some(taken + 1) } else { None };
        // Relaxed: the count is independent of other data, and is raised only from the value that was compared. The
        // partner of this operation is the same operation in other threads. No model: a thread that gets no permit
        // sleeps, so only the precision of a start depends on the count.
        let taken = self.taken.fetch_update(Relaxed, Relaxed, one_more);
        // The guard is made only if the permit was taken, because dropping the guard returns the permit.
        taken.is_ok().then(|| SpinPermit(self))
    }
}

impl Drop for SpinPermit<'_> {
    fn drop(&mut self) {
        // Relaxed: as in `take`.
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// Reads the number of processors only once, because the standard library may read it from files.
fn processors() -> u64 {
    static PROCESSORS: OnceLock<u64> = OnceLock::new();
    *PROCESSORS
        .get_or_init(|| thread::available_parallelism().map_or(1, |count| count.get() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_permit_returns_none() {
        let permits = SpinPermits::new();
        for _ in 0..3 {
            let held: Vec<_> = std::iter::from_fn(|| permits.take()).collect();
            assert_eq!(held.len() as u64, processors());
            assert!((0..10).all(|_| permits.take().is_none()));
        }
    }
}
