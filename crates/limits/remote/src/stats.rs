//! Counts the statistics of a limiter.

use std::sync::atomic::{AtomicU64, Ordering};

/// Statistics of a limiter and its clones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of decisions of all kinds.
    pub decisions: u64,
    /// The number of decisions that used tokens taken ahead and did not call the store.
    pub local: u64,
    /// The number of decisions that were made without the store because it was lost.
    pub degraded: u64,
    /// The number of tokens that were taken ahead and not used yet. Other processes cannot admit requests with these
    /// tokens.
    pub leased: u64,
    /// The number of tokens that the store may have counted and that no request has used. These are the tokens of
    /// requests whose response was lost, including the tokens that these requests would have taken ahead, and tokens
    /// that could not be given back. At most this number of requests was rejected because of these lost tokens.
    pub lost: u64,
}

/// All accesses are relaxed, because no counter publishes anything.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    decisions: AtomicU64,
    local: AtomicU64,
    degraded: AtomicU64,
    lost: AtomicU64,
}

impl Counters {
    pub(crate) fn decision(&self) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn local(&self) {
        self.local.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn degraded(&self) {
        self.degraded.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self, tokens: u64) {
        self.lost.fetch_add(tokens, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, leased: u64) -> Stats {
        Stats {
            decisions: self.decisions.load(Ordering::Relaxed),
            local: self.local.load(Ordering::Relaxed),
            degraded: self.degraded.load(Ordering::Relaxed),
            leased,
            lost: self.lost.load(Ordering::Relaxed),
        }
    }
}

/// The tokens of a request that was sent and has no response yet. Dropping this value counts these tokens as lost.
#[derive(Debug)]
pub(crate) struct AtRisk<'a> {
    pub(crate) tokens: u64,
    counters: &'a Counters,
}

impl<'a> AtRisk<'a> {
    pub(crate) fn none(counters: &'a Counters) -> Self {
        Self { tokens: 0, counters }
    }
}

impl Drop for AtRisk<'_> {
    fn drop(&mut self) {
        self.counters.lost(self.tokens);
    }
}
