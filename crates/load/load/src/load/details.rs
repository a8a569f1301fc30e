//! Defines the counts of an operation besides its times: status, label, bytes, items and connection setup.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// The counts of an operation besides its times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Details {
    /// The status of the response, if responses have a status.
    pub(crate) status: Option<u16>,
    /// The setup times of the connection, if one was opened for the operation.
    pub(crate) set_up: Option<SetUp>,
    /// The label under which the operation is also counted.
    pub(crate) label: Option<&'static str>,
    pub(crate) traffic: Traffic,
}

/// The numbers of bytes, items and retries of an operation or of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Traffic {
    /// The number of bytes read.
    pub(crate) read: u64,
    /// The number of bytes written.
    pub(crate) written: u64,
    /// The number of items in responses, such as rows or messages.
    pub(crate) items: u64,
    /// The number of requests that were retried.
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

/// How long it took to open a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetUp {
    /// The time to connect by TCP or a Unix socket, or the whole time if its parts are unknown.
    pub(crate) connect: Duration,
    /// The TLS handshake, if there was one.
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
