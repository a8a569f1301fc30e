//! Defines facts about an operation: its status, label, traffic and connection setup.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Details {
    pub(crate) status: Option<u16>,
    pub(crate) set_up: Option<SetUp>,
    pub(crate) label: Option<&'static str>,
    pub(crate) traffic: Traffic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Traffic {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) items: u64,
    pub(crate) retried: u64,
}

/// Sums saturate, because a target can report any number.
impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
        self.items = self.items.saturating_add(other.items);
        self.retried = self.retried.saturating_add(other.retried);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SetUp {
    /// The time to connect over TCP or a Unix socket. If the target does not measure the parts of the setup, this is
    /// the time of the whole setup.
    pub(crate) connect: Duration,
    pub(crate) tls: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_at_the_highest_number() {
        let most =
            Traffic { read: u64::MAX, written: u64::MAX - 2, items: u64::MAX, retried: u64::MAX };
        let mut sum = most;
        sum += Traffic { read: 1, written: 2, items: u64::MAX, retried: 1 };
        assert_eq!(sum, Traffic { written: u64::MAX, ..most });
    }
}
