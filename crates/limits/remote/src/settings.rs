//! Timeouts and the number of connections.

use std::time::Duration;

/// The longest timeout.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Timeouts and the number of connections. Two failed decisions in a row open the breaker.
///
/// In tasks, a timeout is exact except for a millisecond or two. In threads, the operating system measures the timeout:
/// Linux uses ticks, often of 4 ms, and adds up to two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The timeout of a decision; none if it follows the round trips.
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) connections: usize,
}

impl Settings {
    /// Sets the timeout of a whole decision: from 1 ms to an hour. After the timeout, which may take a tenth longer,
    /// the decision is made without the store.
    ///
    /// By default the timeout follows the round trips to the store, by the estimate of RFC 6298: four smoothed round
    /// trips, and four times their smoothed variation; but at least 25 ms, and at most 250 ms. Each missed response
    /// doubles it until one comes. It is 250 ms before the first response.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout.clamp(Duration::from_millis(1), LONGEST));
        self
    }

    /// Sets the timeout of making a connection, in the background: from 1 ms to an hour. The default is one second.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// Sets the maximum number of connections that the threads of a limiter share: 1 or more. Tasks share one. The
    /// default is 8.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { timeout: None, connect_timeout: Duration::from_secs(1), connections: 8 }
    }
}
