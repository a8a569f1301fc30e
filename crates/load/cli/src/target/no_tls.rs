//! Stands in for TLS in builds without it. `--target-tls` is then an error.

use anyhow::bail;
use std::io;
use tokio::net::TcpStream;

/// This type cannot be created in a build without TLS.
pub(super) enum Acceptor {}

impl Acceptor {
    #[expect(clippy::unused_async, reason = "as where there is TLS")]
    pub(super) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}

/// An identity, which `new` never returns in a build without TLS.
pub(super) struct Identity {
    pub(super) acceptor: Acceptor,
    pub(super) certificate_pem: String,
}

impl Identity {
    /// Returns an error that names the feature to build with.
    pub(super) fn new() -> anyhow::Result<Identity> {
        bail!("--target-tls: build nanopace-cli with its feature tls")
    }
}
