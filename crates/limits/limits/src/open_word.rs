//! The word of a limiter with one rate, where requests find it without the lock.
//!
//! What a limiter has counted is behind its lock. Often that is the word of one rate, which is all that a
//! decision needs. Then the word lies *open*: a request that does not wait takes a load, the rule's step, and
//! one compare-and-swap. Whoever gets the lock *takes the word in* before it looks at what was counted. As long as
//! the word is taken in, requests find [`TAKEN_IN`] instead, and ask under the lock.
//!
//! **The word lies open only while nothing else matters**: the limits are those that the limiter began with,
//! and nobody waits in line. So a decision on an open word is the one that would be made under the lock, for
//! the moment at which the request has read the clock. By the time of the decision that moment may be past. A
//! rate keeps its bound all the same ([`Gcra`](crate::Gcra)).
//!
//! While the word is taken in, only the holder of the lock writes here. A request that has loaded the word
//! before can't exchange it then. It asks under the lock, after whatever was done there. Models:
//! `an_open_word_is_counted_once`, `a_change_reaches_who_asks_without_the_lock`.

use crate::limit::{Law, LimitState};
use crate::sync::{AtomicU64, Relaxed};
use crate::{Limit, Limits, LimitsState, Rejected, Rule};
use nanopace_nanos::Clock;

/// Stands here instead of the word while that is behind the lock. A word that has this very value stays there: its
/// debt lasts for ever.
const TAKEN_IN: u64 = u64::MAX;

/// The place of the open word of one limiter.
#[derive(Debug)]
pub(crate) struct OpenWord {
    /// The limit whose word may lie here: the limiter's only limit, if that is a rate.
    limit: Option<Limit>,
    /// The word, or [`TAKEN_IN`]. Written by requests, which exchange the value that they have decided on, and under
    /// the lock.
    word: AtomicU64,
}

impl OpenWord {
    /// The place for the word of these limits. At first the word is taken in.
    pub(crate) fn of(limits: &Limits) -> OpenWord {
        let limit = match limits.each() {
            [limit @ Limit { law: Law::Gcra { .. }, .. }] => Some(*limit),
            _ => None,
        };
        OpenWord { limit, word: AtomicU64::new(TAKEN_IN) }
    }

    /// Lets `n` in now, or says why not. None if the word does not lie open: then the lock has to decide.
    #[inline]
    pub(crate) fn try_acquire(&self, n: u64, clock: &dyn Clock) -> Option<Result<(), Rejected>> {
        let Some(Limit { law: Law::Gcra { rule, .. }, .. }) = &self.limit else { return None };
        // The load comes before the clock is read, so that its time is hidden behind that reading.
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

    /// Takes the word in, if it lies open: moves it into the state behind the lock. Called under the lock, before
    /// anything else.
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

    /// Lays the word open, if it is all that decisions by these limits need. Called under the lock, after everything
    /// else, when nobody waits in line.
    pub(crate) fn lay_open(&self, limits: &Limits, state: &mut LimitsState) {
        if let Some(LimitState::Word { word, .. }) = state.only()
            && limits.each() == self.limit.as_slice()
        {
            // Relaxed: as in `take_in`. Model: `an_open_word_is_counted_once`.
            self.word.store(*word, Relaxed);
        }
    }
}
