//! Counts the think times of scenarios, and how late they end.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The maximum delay that counts as normal on a busy machine.
pub(crate) const HICCUP: Duration = Duration::from_millis(10);

/// Counts of the think times of calls.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct ThinkTimes {
    pub(crate) begun: u64,
    pub(crate) over: u64,
    /// The number of think times that ended more than a [`HICCUP`] late.
    pub(crate) late: u64,
    /// The longest delay at the end of a think time.
    pub(crate) most: Duration,
}

impl ThinkTimes {
    /// Records the end of a think time, which was late by `late`.
    pub(crate) fn end(&mut self, late: Duration) {
        self.over += 1;
        self.late += u64::from(late > HICCUP);
        self.most = self.most.max(late);
    }

    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: ThinkTimes) {
        self.begun += other.begun;
        self.over += other.over;
        self.late += other.late;
        self.most = self.most.max(other.most);
    }

    /// Returns the number of think times that have not ended.
    pub(crate) fn now(&self) -> u64 {
        self.begun.saturating_sub(self.over)
    }
}
