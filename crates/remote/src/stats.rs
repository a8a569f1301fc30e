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
    /// Tokens that are taken ahead and not used now. So many more could have been let in elsewhere.
    pub leased: u64,
}

/// The counters. Relaxed throughout: each is a figure by itself, and nothing is published by it.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    decisions: AtomicU64,
    local: AtomicU64,
    degraded: AtomicU64,
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

    pub(crate) fn stats(&self, leased: u64) -> Stats {
        Stats {
            decisions: self.decisions.load(Ordering::Relaxed),
            local: self.local.load(Ordering::Relaxed),
            degraded: self.degraded.load(Ordering::Relaxed),
            leased,
        }
    }
}
