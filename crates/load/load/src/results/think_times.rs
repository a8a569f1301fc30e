//! Counts the think times of scenarios, and how late they end.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest delay that is normal on a busy machine.
pub(crate) const HICCUP: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct ThinkTimes {
    pub(crate) begun: u64,
    pub(crate) over: u64,
    pub(crate) late: u64,
    pub(crate) most: Duration,
}

impl ThinkTimes {
    pub(crate) fn end(&mut self, late: Duration) {
        self.over += 1;
        self.late += u64::from(late > HICCUP);
        self.most = self.most.max(late);
    }

    pub(crate) fn add(&mut self, other: ThinkTimes) {
        self.begun += other.begun;
        self.over += other.over;
        self.late += other.late;
        self.most = self.most.max(other.most);
    }

    pub(crate) fn now(&self) -> u64 {
        self.begun.saturating_sub(self.over)
    }
}
