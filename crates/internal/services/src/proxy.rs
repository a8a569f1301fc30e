//! A TCP proxy that delays, cuts, holds or redirects connections.

mod pipe;
mod rules;

use crate::port;
use pipe::Connection;
pub use rules::NewConnections;
use rules::Rules;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The period of the checks for new connections.
const LOOK: Duration = Duration::from_millis(1);

/// A TCP proxy on loopback, in its own threads. It can be changed while it runs. Dropping it closes all
/// its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    acceptor: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy for this address, which forwards everything at once.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub fn start(upstream: SocketAddr) -> io::Result<Self> {
        let listener = port::listen()?;
        let address = listener.local_addr()?;
        let rules = Arc::new(Rules::new(upstream, listener)?);
        let acceptor = Some(thread::spawn({
            let rules = rules.clone();
            move || accept(&rules)
        }));
        Ok(Self { address, rules, acceptor })
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients of a server without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// Delays everything from now on by this time in each direction, in order.
    pub fn delay(&self, one_way: Duration) {
        self.rules.change(|now| now.delay = one_way);
    }

    /// Closes all connections and treats new ones as `new` states until [`mend`](Self::mend).
    pub fn cut(&self, new: NewConnections) {
        self.rules.cut(new);
    }

    /// Accepts new connections again.
    ///
    /// # Errors
    ///
    /// If another process now listens on the port.
    pub fn mend(&self) -> io::Result<()> {
        self.rules.mend(self.address)
    }

    /// Sends new connections to another server, as after a failover, and closes the existing ones.
    pub fn redirect(&self, upstream: SocketAddr) {
        self.rules.change(|now| {
            now.upstream = upstream;
            now.end_connections();
        });
    }

    /// Drops the next `n` replies: the server has executed the command, and the connection is closed instead.
    /// Data that the server sends at once counts as one reply, including the replies to the first commands of a
    /// connection.
    pub fn drop_replies(&self, n: usize) {
        self.rules.change(|now| now.replies_to_drop = n);
    }

    /// Holds everything that is sent on the open connections until [`release`](Self::release), even if the
    /// client disconnects. Later connections are not held.
    pub fn hold_requests(&self) {
        self.rules.change(rules::State::hold);
    }

    /// Sends the held data to the server.
    pub fn release(&self) {
        self.rules.change(rules::State::release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.rules.change(rules::State::end);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().ok();
        }
    }
}

/// Serves new connections until the proxy is dropped.
fn accept(rules: &Arc<Rules>) {
    while let Some(accepted) = rules.accept() {
        match accepted {
            Ok(connection) => {
                let rules = rules.clone();
                thread::spawn(move || Connection::run(connection, &rules));
            }
            Err(_) => thread::sleep(LOOK),
        }
    }
}
