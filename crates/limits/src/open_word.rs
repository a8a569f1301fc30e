//! The word of one rate, where requests find it without the lock.
//!
//! What a limiter has counted is behind its lock. Often that is the word of one rate, and all that a
//! decision needs. Then it lies *open*: a request that does not wait takes a load, the rule's step, and
//! one compare-and-swap. Whoever holds the lock *takes it in* before it looks at what was counted.
//! Meanwhile requests find [`TAKEN_IN`], and come to the lock.
//!
//! **It lies open only while nothing else matters**: the limits are those that the limiter began with,
//! and nobody waits in line. So a decision on an open word is the one that would be made under the lock,
//! at the moment that the clock showed before. A rate keeps its bound by such moments as well
//! ([`Gcra`](crate::Gcra)).
//!
//! Nobody writes a word that is taken in but who holds the lock. So whoever has seen it before can't
//! exchange it afterwards, and asks under the lock, behind whatever was done there. Models:
//! `an_open_word_is_counted_once`, `a_change_reaches_who_asks_without_the_lock`.

use crate::limit::{Law, LimitState};
use crate::sync::{AtomicU64, Relaxed};
use crate::{Limit, Limits, LimitsState, Rejected, Rule};
use nanopace::Clock;

/// Instead of a word: it is behind the lock. A debt as high lasts for ever, and stays there.
const TAKEN_IN: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct OpenWord {
    /// The limit whose word may lie here: a rate, if it is the only limit.
    limit: Option<Limit>,
    /// Written by requests, from the value that the decision was made on, and under the lock.
    word: AtomicU64,
}

impl OpenWord {
    /// The word of these limits. At first it is taken in.
    pub(crate) fn of(limits: &Limits) -> OpenWord {
        let limit = match limits.each() {
            [limit @ Limit { law: Law::Gcra { .. }, .. }] => Some(*limit),
            _ => None,
        };
        OpenWord { limit, word: AtomicU64::new(TAKEN_IN) }
    }

    /// Lets `n` in now, or says why not. None if the word does not lie open: the lock has to decide.
    #[inline]
    pub(crate) fn try_acquire(&self, n: u64, clock: &dyn Clock) -> Option<Result<(), Rejected>> {
        let Some(Limit { law: Law::Gcra { rule, .. }, .. }) = &self.limit else { return None };
        // Before the clock is read, so that the time of the load is hidden.
        // Relaxed: the word is all there is; nothing else is published through it. Model:
        // `an_open_word_is_counted_once`.
        let mut seen = self.word.load(Relaxed);
        let now = clock.now();
        while seen != TAKEN_IN {
            let mut owed = seen;
            if let Err(rejected) = rule.try_acquire(&mut owed, now, n) {
                return Some(Err(rejected));
            }
            // Relaxed: as for the load; what counts is that the word is still the one that the
            // decision was made on. Its partners are itself, in another thread, and `take_in`.
            // Models: `an_open_word_is_counted_once`, `a_change_reaches_who_asks_without_the_lock`.
            match self.word.compare_exchange_weak(seen, owed, Relaxed, Relaxed) {
                Ok(_) => return Some(Ok(())),
                Err(newer) => seen = newer,
            }
        }
        None
    }

    /// Takes the word in, if it lies open. Called with the lock held, before anything else.
    pub(crate) fn take_in(&self, state: &mut LimitsState) {
        // Relaxed: only who holds the lock lays it open or takes it in. Model: as below.
        if self.word.load(Relaxed) == TAKEN_IN {
            return;
        }
        if let Some(LimitState::Word { word, .. }) = state.only() {
            // Relaxed: a swap takes the latest word, and whoever has seen it fails to exchange it.
            // Model: `an_open_word_is_counted_once`.
            *word = self.word.swap(TAKEN_IN, Relaxed);
        }
    }

    /// Lays the word open, if it is all that decisions by these limits need. Called with the lock held,
    /// after everything else, when nobody waits.
    pub(crate) fn lay_open(&self, limits: &Limits, state: &mut LimitsState) {
        if let Some(LimitState::Word { word, .. }) = state.only()
            && limits.each() == self.limit.as_slice()
        {
            // Relaxed: as in `take_in`. Model: `an_open_word_is_counted_once`.
            self.word.store(*word, Relaxed);
        }
    }
}
