//! The settings of a store: timeouts and the number of connections.

use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(3_600);

/// The settings of a store: timeouts, and the number of connections. After two failed calls in a row, decisions do not
/// call the store until a connection attempt in the background succeeds.
///
/// In tasks, a timeout is exact to a millisecond or two. In threads, the operating system measures the timeout: Linux
/// counts ticks of its kernel timer, often 4 ms each, and the timeout can be up to two ticks longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The timeout of a decision, or `None` if the timeout is computed from the round-trip times.
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) connections: usize,
}

impl Settings {
    /// Sets the timeout of a whole decision: from 1 ms to an hour. After the timeout, or up to a tenth of the timeout
    /// later, the decision is made without the store. In threads, the timeout starts again with each part of a
    /// response.
    ///
    /// By default the timeout follows the round trips to the store, by the estimate of RFC 6298: four smoothed
    /// round-trip times plus four times their smoothed variation, but at least 25 ms and at most 250 ms. Each missed
    /// response doubles the timeout until a response is received. Before the first response, the timeout is 250 ms.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout.clamp(Duration::from_millis(1), LONGEST));
        self
    }

    /// Sets the timeout for making a connection in the background, and for reading or changing a
    /// [`RemoteConfig`](crate::RemoteConfig): from 1 ms to an hour. The default is one second.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// Sets the maximum number of connections for threads, 1 or more. The default is 8. If all of them are in use when
    /// the store has failed twice in a row, one more is made, to test the store. Tasks share one connection.
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
