//! A connection that can be made worse.

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

/// How often it is looked whether somebody connects.
const LOOK: Duration = Duration::from_millis(1);

/// A TCP proxy on loopback, in threads of its own. It can be changed while it runs. All of its
/// connections die when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    acceptor: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy in front of this address, which passes everything on at once.
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

    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How clients of a server without a password name it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// From now on, everything is late by this time in each direction, in order.
    pub fn delay(&self, one_way: Duration) {
        self.rules.change(|now| now.delay = one_way);
    }

    /// All connections die, and new ones fare as said, until [`mend`](Self::mend).
    pub fn cut(&self, new: NewConnections) {
        self.rules.cut(new);
    }

    /// New connections are let through again.
    ///
    /// # Errors
    ///
    /// If another process listens at the port now.
    pub fn mend(&self) -> io::Result<()> {
        self.rules.mend(self.address)
    }

    /// New connections go to another server, as after a failover; those that are there die.
    pub fn redirect(&self, upstream: SocketAddr) {
        self.rules.change(|now| {
            now.upstream = upstream;
            now.end_connections();
        });
    }

    /// The next `n` replies are swallowed: the server has executed the command, and the connection
    /// dies instead. Whatever the server sends at once counts as one reply, also to what clients say
    /// first on a connection.
    pub fn drop_replies(&self, n: usize) {
        self.rules.change(|now| now.replies_to_drop = n);
    }

    /// What is sent on the connections that are open now reaches the server only after
    /// [`release`](Self::release), also if the client has hung up meanwhile. Connections that are
    /// made later are not held.
    pub fn hold_requests(&self) {
        self.rules.change(rules::State::hold);
    }

    /// What was held is sent to the server.
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

/// Serves whoever connects, until the proxy ends.
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
