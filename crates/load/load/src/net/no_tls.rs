//! Replaces `net/tls.rs` in builds without TLS. Options and URLs that need TLS cause errors.

use super::trust::{Identity, Tls, Trust};
use anyhow::bail;
use std::io;

#[derive(Clone, Debug)]
pub(crate) enum Name {}

impl Name {
    pub(crate) fn new(_: &str) -> anyhow::Result<Name> {
        bail!(
            "https:// needs TLS: build this program with the feature tls of nanopace-cli or nanopace-load"
        )
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Connector {}

pub(crate) type Stream<S> = S;

impl Connector {
    pub(crate) fn new(_: Trust<'_>, _: Option<Identity<'_>>, _: bool) -> anyhow::Result<Connector> {
        bail!(
            "--cacert and --cert need TLS: build this program with the feature tls of nanopace-cli or nanopace-load"
        )
    }

    #[expect(clippy::unused_async, reason = "net/tls.rs has this signature")]
    pub(crate) async fn connect<S>(&self, _: &Name, _: S) -> io::Result<Stream<S>> {
        match *self {}
    }
}

pub(crate) fn speaks_http2<S>(_: &Stream<S>) -> bool {
    false
}

pub(crate) fn reason(_: &io::Error) -> Option<Tls> {
    None
}
