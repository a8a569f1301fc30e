//! Runs the embedded HTTP target: a server for load tests that have no server of their own.
//!
//! The target supports HTTP/1.1 and HTTP/2, with and without TLS. It has one thread per two cores, so that half of the
//! cores are left to the load.

mod answer;
pub(crate) mod args;
pub(crate) mod behaviour;
mod server;
mod share;
mod sleep;
mod stall;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "target-tls"), path = "target/no_tls.rs")]
mod tls;

use answer::Answerer;
use behaviour::Behaviour;
use server::Server;
use sleep::Sleepers;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use tls::Identity;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

/// The length of the accept queue: enough for thousands of connections at once, and the default maximum of Linux.
const CONNECTIONS_TO_ACCEPT: u32 = 4096;

#[derive(Debug)]
struct Target {
    address: SocketAddr,
    answerer: Arc<Answerer>,
    certificate: Option<String>,
}

impl Target {
    pub(crate) fn start(behaviour: &Behaviour) -> anyhow::Result<Target> {
        let identity = behaviour.tls.then(Identity::new).transpose()?;
        let (tls, certificate) = identity.map(|it| (it.acceptor, it.certificate_pem)).unzip();
        let runtime = runtime()?;
        let inside = runtime.enter();
        let listener = listen()?;
        let address = listener.local_addr()?;
        let answerer = Arc::new(Answerer::new(behaviour, Sleepers::start()?));
        runtime.spawn(Server::new(tls, Arc::clone(&answerer)).accept(listener));
        drop(inside);
        // Dropping the runtime would stop the target.
        std::mem::forget(runtime);
        Ok(Target { address, answerer, certificate })
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    pub(crate) fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    pub(crate) fn schedule_starts(&self) {
        self.answerer.schedule_starts();
    }
}

fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread()
        .worker_threads((cores / 2).max(1))
        .thread_name("target")
        .enable_all()
        .build()
}

fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(CONNECTIONS_TO_ACCEPT)
}
