//! Limits the number of connections to the control server. When all connections are in use, the connection of the
//! client that has been silent for longest is closed.

use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const MOST_CONNECTIONS: usize = 128;

/// A connection can be closed only after its client has been silent for this time.
const GRACE: Duration = Duration::from_millis(20);

const RESPITE: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The start of the client's silence, or `None` while the client waits for a response.
    silent_since: watch::Sender<Option<Instant>>,
}

impl Connection {
    fn new() -> Connection {
        Connection { silent_since: watch::Sender::new(Some(Instant::now())) }
    }

    pub(super) fn heard(&self) {
        self.silent_since.send_replace(Some(Instant::now()));
    }

    pub(super) async fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.silent_since.send_replace(None);
        let done = work.await;
        self.heard();
        done
    }
}

#[derive(Debug, Default)]
pub(super) struct Connections(Vec<(Connection, JoinHandle<()>)>);

impl Connections {
    pub(super) async fn give<F>(&mut self, converse: impl FnOnce(Connection) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while !self.has_room() {
            sleep(RESPITE).await;
        }
        let connection = Connection::new();
        self.0.push((connection.clone(), tokio::spawn(converse(connection))));
    }

    pub(super) async fn leave(self) {
        for (_, conversation) in self.0 {
            // A task that panicked has already printed its message.
            let _ = conversation.await;
        }
    }

    fn has_room(&mut self) -> bool {
        self.0.retain(|(_, conversation)| !conversation.is_finished());
        if self.0.len() == MOST_CONNECTIONS {
            self.send_away();
        }
        self.0.len() < MOST_CONNECTIONS
    }

    fn send_away(&mut self) {
        let silent_since = |(connection, _): &(Connection, _)| *connection.silent_since.borrow();
        let all = self.0.iter().enumerate();
        let silent = all.filter_map(|(at, taken)| Some((silent_since(taken)?, at))).min();
        if let Some((_, at)) = silent.filter(|(since, _)| since.elapsed() >= GRACE) {
            self.0.remove(at).1.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    async fn taken(waits: impl Fn(usize) -> bool) -> Connections {
        let mut connections = Connections::default();
        for number in 0..MOST_CONNECTIONS {
            let waits = waits(number);
            connections.give(|connection| talk(connection, waits)).await;
            sleep(SECOND).await;
        }
        connections
    }

    async fn talk(connection: Connection, waits: bool) {
        if waits { connection.wait_for(pending()).await } else { pending().await }
    }

    fn gone(before: &[Connection], connections: &Connections) -> Vec<usize> {
        let is_there = |connection: &Connection| {
            connections
                .0
                .iter()
                .any(|(other, _)| other.silent_since.same_channel(&connection.silent_since))
        };
        (0..before.len()).filter(|&number| !is_there(&before[number])).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_that_was_silent_for_longest_makes_room() {
        let mut connections = taken(|number| number == 1).await;
        let before: Vec<_> =
            connections.0.iter().map(|(connection, _)| connection.clone()).collect();
        before[2].heard();
        for expected in [&[0][..], &[0, 3], &[0, 3, 4]] {
            connections.give(|connection| talk(connection, false)).await;
            assert_eq!(
                (gone(&before, &connections), connections.0.len()),
                (expected.to_vec(), MOST_CONNECTIONS)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_has_time_to_speak() {
        let mut connections = Connections::default();
        let begin = Instant::now();
        for _ in 0..=2 * MOST_CONNECTIONS {
            connections.give(|connection| talk(connection, false)).await;
        }
        assert!(begin.elapsed() >= 2 * GRACE, "{:?}", begin.elapsed());
        assert!(begin.elapsed() < 3 * GRACE, "{:?}", begin.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_waits_for_the_run_stays_connected() {
        let mut connections = taken(|_| true).await;
        let given = timeout(SECOND, connections.give(|connection| talk(connection, false))).await;
        assert!(given.is_err() && connections.0.len() == MOST_CONNECTIONS);
        connections.0[5].1.abort();
        connections.give(|connection| talk(connection, false)).await;
        assert_eq!(connections.0.len(), MOST_CONNECTIONS);
    }
}
