//! How long all workers were busy. In that time the target holds the load back, not the generator.

use nanopace::Nanos;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts the workers that are inside requests.
#[derive(Debug)]
pub(crate) struct Utilization {
    workers: u16,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    inside: u16,
    /// Since when all workers are inside requests, if they are.
    all_since: Nanos,
    /// How long all workers were inside requests before.
    all_busy: Duration,
}

impl Utilization {
    /// All workers are idle at first.
    pub(crate) fn new(workers: u16) -> Utilization {
        Utilization { workers, state: Mutex::default() }
    }

    /// A worker starts a request.
    pub(crate) fn request_starts(&self, now: Nanos) {
        let mut state = self.state();
        state.inside += 1;
        if state.inside == self.workers {
            state.all_since = now;
        }
    }

    /// A worker's request ends.
    pub(crate) fn request_ends(&self, now: Nanos) {
        let mut state = self.state();
        if state.inside == self.workers {
            let stretch = now - state.all_since;
            state.all_busy += stretch;
        }
        state.inside -= 1;
    }

    /// Whether all workers are inside requests now.
    pub(crate) fn all_busy(&self) -> bool {
        self.state().inside == self.workers
    }

    /// How long all workers were inside requests. A time in which they still are is not included.
    pub(crate) fn all_busy_time(&self) -> Duration {
        self.state().all_busy
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panics ends the run with its own message; this must not add another.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_without_a_free_worker_counts() {
        let utilization = Utilization::new(2);
        let at = |seconds: u64| Nanos::ZERO + Duration::from_secs(seconds);
        utilization.request_starts(at(1));
        assert!(!utilization.all_busy());
        utilization.request_starts(at(2));
        assert!(utilization.all_busy());
        utilization.request_ends(at(5));
        utilization.request_starts(at(7));
        utilization.request_ends(at(8));
        utilization.request_ends(at(9));
        // From 2 to 5 and from 7 to 8.
        assert_eq!(
            (utilization.all_busy(), utilization.all_busy_time()),
            (false, Duration::from_secs(4))
        );
    }
}
