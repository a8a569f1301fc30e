//! Limits how long a node continues while it cannot reach the store.

use std::time::Duration;

/// The behaviour of a node that has been without the store for longer than its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBlind {
    /// The node starts nothing until the store is available again.
    #[default]
    Hold,
    /// The node ends, and its pacer is closed.
    Stop,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreOutage {
    limit_ns: u64,
    then: WhenBlind,
    since: Option<u64>,
}

impl StoreOutage {
    pub(crate) fn new(limit: Duration, then: WhenBlind) -> StoreOutage {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        StoreOutage { limit_ns, then, since: None }
    }

    pub(crate) fn limit_ns(&self) -> u64 {
        self.limit_ns
    }

    pub(crate) fn since(&self) -> Option<u64> {
        self.since
    }

    /// Returns whether a node without the store runs the frame that begins at `begins`: at that time, the outage must
    /// not be longer than the limit. The first call of an outage sets its beginning to `begins`.
    pub(crate) fn goes_on(&mut self, begins: u64) -> bool {
        let since = *self.since.get_or_insert(begins);
        begins - since.min(begins) <= self.limit_ns
    }

    pub(crate) fn ended(&mut self) {
        self.since = None;
    }

    pub(crate) fn stops(&self, now: u64) -> bool {
        let blind = self.since.map_or(0, |since| now.saturating_sub(since));
        self.then == WhenBlind::Stop && blind > self.limit_ns
    }
}
