//! In place of TLS, where that was left out: no target speaks it.

use anyhow::bail;
use std::io;
use tokio::net::TcpStream;

/// There is none.
pub(super) enum Acceptor {}

impl Acceptor {
    #[expect(clippy::unused_async, reason = "as where there is TLS")]
    pub(super) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}

/// What nobody gets.
pub(super) struct Identity {
    pub(super) acceptor: Acceptor,
    pub(super) certificate_pem: String,
}

impl Identity {
    /// Refuses, and says what to build.
    pub(super) fn new() -> anyhow::Result<Identity> {
        bail!("--target-tls: build nanopace-cli with its feature tls")
    }
}
