//! Counts the think times of scenarios, and how late they ended.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest delay of a busy scheduler that is normal.
pub(crate) const HICCUP: Duration = Duration::from_millis(10);

/// How many there were.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct ThinkTimes {
    pub(crate) begun: u64,
    pub(crate) over: u64,
    /// How many ended more than a [`HICCUP`] late.
    pub(crate) late: u64,
    /// How late one ended at most.
    pub(crate) most: Duration,
}

impl ThinkTimes {
    /// A think time has ended late by this time.
    pub(crate) fn end(&mut self, late: Duration) {
        self.over += 1;
        self.late += u64::from(late > HICCUP);
        self.most = self.most.max(late);
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: ThinkTimes) {
        self.begun += other.begun;
        self.over += other.over;
        self.late += other.late;
        self.most = self.most.max(other.most);
    }

    /// How many are not over.
    pub(crate) fn now(&self) -> u64 {
        self.begun.saturating_sub(self.over)
    }
}
