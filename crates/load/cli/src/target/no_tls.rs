//! Replaces the TLS side of the embedded target in builds without TLS.

use anyhow::bail;
use std::io;
use tokio::net::TcpStream;

pub(super) enum Acceptor {}

impl Acceptor {
    #[expect(clippy::unused_async, reason = "the version with TLS has this signature")]
    pub(super) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}

pub(super) struct Identity {
    pub(super) acceptor: Acceptor,
    pub(super) certificate_pem: String,
}

impl Identity {
    pub(super) fn new() -> anyhow::Result<Identity> {
        bail!("--target-tls is not built in: cargo install nanopace-cli --features target-tls")
    }
}
