//! How patient a limiter is with its store.

use std::time::Duration;

/// Nobody waits longer, and the clock can count it.
const LONGEST: Duration = Duration::from_secs(3_600);

/// How patient a limiter is with its store. Two decisions in a row that the store fails open the
/// breaker.
///
/// A time is exact in tasks, but for a millisecond or two. In threads the system counts it: on Linux
/// in ticks of its own, often of 4 ms, of which up to two come on top.
///
/// ```
/// use nanopace_remote::{Remote, Settings};
/// use std::time::Duration;
///
/// let settings = Settings::default().timeout(Duration::from_millis(50)).connections(2);
/// let store = Remote::lazy_with("redis://127.0.0.1/", settings)?;
/// # let _ = store;
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time-out of a decision; none if it follows the round trips.
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) connections: usize,
}

impl Settings {
    /// How long a decision may take, all in all, or a tenth longer: from 1 ms to an hour. What is not
    /// decided then is decided without the store.
    ///
    /// By default that follows the round trips to the store, by the estimate of RFC 6298: four smoothed
    /// round trips, and four times their smoothed variation; but at least 25 ms, and at most 250 ms.
    /// Each answer that is missed doubles it until one comes. It is 250 ms before the first answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout.clamp(Duration::from_millis(1), LONGEST));
        self
    }

    /// How long a connection may take to be made, in the background: from 1 ms to an hour. One second
    /// by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// The most connections of a limiter that threads share: 1 or more. Tasks share one. 8 by
    /// default.
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
