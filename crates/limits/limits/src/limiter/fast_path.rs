//! The fast path of a limiter with one rate: a decision without the lock.
//!
//! A single rate decides by one word. While the fast path is *open*, that word is stored here, and an admission
//! consists of a load, the rule's step, and a compare-and-swap. The holder of the lock begins by *closing* the fast
//! path: it moves the word into the guarded state.
//!
//! **The fast path is open only if the word alone decides**: the limits are those that the limiter began with, no
//! replaced limit still counts, and no request waits. A decision that is made here is the one that would be made under
//! the lock for the same clock reading. Another request with a later reading may have been decided before, but a rate
//! still keeps its bound ([`Gcra`](crate::Gcra)).
//!
//! While the fast path is closed, only the holder of the lock writes here. If a request loaded the word before the word
//! was moved, its exchange fails, unless the same word has been stored here again. A request that finds [`CLOSED`]
//! takes the lock, and sees the changes that were made under the lock. Models: `an_open_word_is_counted_once`,
//! `a_change_reaches_who_asks_without_the_lock`.

use crate::limits::{Law, LimitState, LimitsState};
use crate::sync::{AtomicU64, Relaxed};
use crate::{Limit, Limits, Rejected, Rule};
use nanopace_nanos::Clock;

/// The value stored here while the word is in the guarded state. A word that itself has this value stays in the guarded
/// state; a debt of that size is never paid off.
const CLOSED: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct FastPath {
    /// The limit that the limiter began with, if it was a single rate.
    limit: Option<Limit>,
    word: AtomicU64,
}

impl FastPath {
    pub(crate) fn of(limits: &Limits) -> FastPath {
        let limit = match limits.each() {
            [limit @ Limit { law: Law::Gcra { .. }, .. }] => Some(*limit),
            _ => None,
        };
        FastPath { limit, word: AtomicU64::new(CLOSED) }
    }

    #[inline]
    pub(crate) fn try_acquire(&self, n: u64, clock: &dyn Clock) -> Option<Result<(), Rejected>> {
        let Some(Limit { law: Law::Gcra { rule, .. }, .. }) = &self.limit else { return None };
        // Relaxed: the word is the whole state, and nothing else is published through it. Model:
        // `an_open_word_is_counted_once`. The word is loaded before the clock is read, because reading the clock hides
        // the latency of the load.
        let mut seen = self.word.load(Relaxed);
        let now = clock.now();
        while seen != CLOSED {
            let mut owed = seen;
            if let Err(rejected) = rule.try_acquire(&mut owed, now, n) {
                return Some(Err(rejected));
            }
            // Relaxed: as for the load. The exchange succeeds only if the word is still the one on which the decision
            // was made. The partners are this exchange in another thread, and `close`. Models:
            // `an_open_word_is_counted_once`, `a_change_reaches_who_asks_without_the_lock`.
            match self.word.compare_exchange_weak(seen, owed, Relaxed, Relaxed) {
                Ok(_) => return Some(Ok(())),
                Err(newer) => seen = newer,
            }
        }
        None
    }

    /// Closes the fast path. The caller holds the lock.
    pub(crate) fn close(&self, state: &mut LimitsState) {
        // Relaxed: only the holder of the lock opens or closes the fast path. Model: `an_open_word_is_counted_once`.
        if self.word.load(Relaxed) == CLOSED {
            return;
        }
        // The state is always a word here, because `open` requires this.
        if let Some(LimitState::Word { word, .. }) = state.only() {
            // Relaxed: a swap takes the latest word, and a request that has loaded it fails to exchange it.
            // Model: `an_open_word_is_counted_once`.
            *word = self.word.swap(CLOSED, Relaxed);
        }
    }

    /// Opens the fast path if the word alone decides. The caller holds the lock, and the queue is empty.
    pub(crate) fn open(&self, limits: &Limits, state: &mut LimitsState) {
        if let Some(LimitState::Word { word, .. }) = state.only()
            && limits.each() == self.limit.as_slice()
        {
            // Relaxed: as in `close`. Model: `an_open_word_is_counted_once`.
            self.word.store(*word, Relaxed);
        }
    }
}
