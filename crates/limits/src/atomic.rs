//! Rules whose state is one word, shared without a lock.

use crate::sync::{AtomicU64, Relaxed};
use crate::{Limiter, Rejected, Rule};
use nanopace::Nanos;

/// A rule whose state is one word, shared without a lock: a decision is one load, the rule's step,
/// and one compare-and-swap.
#[derive(Debug)]
pub struct Atomic<R> {
    rule: R,
    /// Written by `admit` only, from the value that the decision was made on.
    state: AtomicU64,
}

impl<R: Rule<State: From<u64> + Into<u64>>> Atomic<R> {
    /// A limiter that has let nothing in yet.
    pub fn new(rule: R) -> Atomic<R> {
        let state = AtomicU64::new(rule.fresh().into());
        Atomic { rule, state }
    }

    /// The rule it follows.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The state as it is now; for showing.
    pub fn state(&self) -> R::State {
        R::State::from(self.seen())
    }

    fn seen(&self) -> u64 {
        // Relaxed: the word is all there is; nothing else is published through it. Model:
        // `one_word_admits_no_more`.
        self.state.load(Relaxed)
    }

    /// Lets `n` in at `now`; says what the word was before.
    pub(crate) fn admit(&self, n: u64, now: Nanos) -> Result<u64, Rejected> {
        let mut seen = self.seen();
        loop {
            let mut state = R::State::from(seen);
            self.rule.decide(&mut state, now, n)?;
            // Relaxed: as in `seen`; what counts is that the word is still the one that the
            // decision was made on. Its partner is itself, in another thread. Model:
            // `one_word_admits_no_more`.
            match self.state.compare_exchange_weak(seen, state.into(), Relaxed, Relaxed) {
                Ok(_) => return Ok(seen),
                Err(newer) => seen = newer,
            }
        }
    }
}

impl<R: Rule<State: From<u64> + Into<u64>>> Limiter for Atomic<R> {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.admit(n, now).map(|_| ())
    }

    fn check_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let mut state = self.state();
        self.rule.advance(&mut state, now);
        self.rule.check(&state, now, n)
    }
}
