//! Provides a TCP proxy that delays data, holds requests, drops replies, and cuts or redirects connections.

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

const LOOK: Duration = Duration::from_millis(1);

/// A TCP proxy on loopback that runs in its own threads. Its behaviour can be changed at any time. All its connections
/// are closed when this value is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    acceptor: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy for the server at this address. At first, the proxy forwards all data without a delay.
    ///
    /// # Errors
    /// Fails if there is no free port.
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

    /// Returns the address on which the proxy listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients, for a server without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// Delays all data that arrives after this call by `one_way` in each direction. The data stays in order.
    pub fn delay(&self, one_way: Duration) {
        self.rules.change(|now| now.delay = one_way);
    }

    /// Closes all connections. Until [`mend`](Self::mend) is called, the proxy treats new connections according to
    /// `new`. If the proxy already refuses new connections, it continues to do so.
    pub fn cut(&self, new: NewConnections) {
        self.rules.cut(new);
    }

    /// Accepts new connections again, and serves those that hang.
    ///
    /// # Errors
    /// Fails if the system does not let the proxy listen again.
    pub fn mend(&self) -> io::Result<()> {
        self.rules.mend()
    }

    /// Closes the existing connections, and connects later ones to another server, as after a failover.
    pub fn redirect(&self, upstream: SocketAddr) {
        self.rules.change(|now| {
            now.upstream = upstream;
            now.end_connections();
        });
    }

    /// Drops the next `n` replies. For each, the server executes the command, and the proxy closes the connection
    /// instead of sending the reply. Data that the proxy reads at once counts as one reply. Replies to the commands
    /// with which a client sets up its connection also count.
    pub fn drop_replies(&self, n: usize) {
        self.rules.change(|now| now.replies_to_drop = n);
    }

    /// Holds all requests on the open connections until [`release`](Self::release) is called, even if the client
    /// disconnects. Requests on later connections are not held. [`cut`](Self::cut) and [`redirect`](Self::redirect)
    /// drop the held requests.
    pub fn hold_requests(&self) {
        self.rules.change(rules::State::hold);
    }

    /// Sends the held requests to the server.
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
