//! What a limiter has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a limiter and its clones have done so far.
///
/// ```
/// use nanopace_remote::{Remote, Stats};
///
/// let users = Remote::lazy("redis://127.0.0.1:1/")?.limits("10/s").build()?;
/// assert_eq!(users.stats(), Stats::default());
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Decisions, of all kinds.
    pub decisions: u64,
    /// Decisions of tokens that were taken ahead, without asking the store.
    pub local: u64,
    /// Decisions that were made without the store because it was lost.
    pub degraded: u64,
    /// Tokens that are taken ahead and not used now. As many more could have been let in elsewhere.
    pub leased: u64,
    /// Tokens that the store may have counted, and nobody has: those of requests whose answer was
    /// lost, with what these would have taken ahead, and those that could not be given back. At most
    /// so many fewer got in.
    pub lost: u64,
}

/// The counters. Relaxed throughout: each is a figure by itself, and nothing is published by it.
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

/// Tokens of a request that was sent and has no answer. They are lost if this is dropped.
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
