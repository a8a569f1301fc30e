//! Whether anyone is free: the time in which all workers were inside requests is the target's, not
//! the generator's.

use nanopace::Nanos;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All workers together. They tell it when a request starts and ends.
#[derive(Debug)]
pub(crate) struct Crew {
    workers: u16,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    inside: u16,
    /// Since when all workers are inside requests, while they are.
    all_since: Nanos,
    /// How long they were, before that.
    all: Duration,
}

impl Crew {
    /// A crew of idle workers.
    pub(crate) fn new(workers: u16) -> Crew {
        Crew { workers, state: Mutex::default() }
    }

    /// One more worker is inside a request.
    pub(crate) fn enter(&self, now: Nanos) {
        let mut state = self.state();
        state.inside += 1;
        if state.inside == self.workers {
            state.all_since = now;
        }
    }

    /// One worker's request has ended.
    pub(crate) fn leave(&self, now: Nanos) {
        let mut state = self.state();
        if state.inside == self.workers {
            let stretch = now - state.all_since;
            state.all += stretch;
        }
        state.inside -= 1;
    }

    /// Whether all workers are inside requests now.
    pub(crate) fn all_busy(&self) -> bool {
        self.state().inside == self.workers
    }

    /// How long all workers were inside requests, up to the last time that one of them left.
    pub(crate) fn all_busy_time(&self) -> Duration {
        self.state().all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panics ends the run with its own message; this must not add a second one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_with_nobody_free_counts() {
        let crew = Crew::new(2);
        let at = |seconds: u64| Nanos::ZERO + Duration::from_secs(seconds);
        crew.enter(at(1));
        assert!(!crew.all_busy());
        crew.enter(at(2));
        assert!(crew.all_busy());
        crew.leave(at(5));
        crew.enter(at(7));
        crew.leave(at(8));
        crew.leave(at(9));
        // From 2 to 5 and from 7 to 8.
        assert_eq!((crew.all_busy(), crew.all_busy_time()), (false, Duration::from_secs(4)));
    }
}
