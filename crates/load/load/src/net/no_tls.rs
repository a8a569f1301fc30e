//! Replaces `net/tls.rs` in builds without TLS. Options and URLs that need TLS cause errors.

use super::trust::{Identity, Tls, Trust};
use anyhow::bail;
use std::io;

/// The name of a TLS server. It cannot be created in a build without TLS.
#[derive(Clone, Debug)]
pub(crate) enum Name {}

impl Name {
    /// Returns an error that names the feature to build with.
    pub(crate) fn new(_: &str) -> anyhow::Result<Name> {
        bail!(
            "https:// asks for TLS: build this program with the feature tls, of nanopace-cli or of nanopace-load"
        )
    }
}

/// A connector for TLS. It cannot be created in a build without TLS.
#[derive(Clone, Debug)]
pub(crate) enum Connector {}

/// A stream, which never uses TLS.
pub(crate) type Stream<S> = S;

impl Connector {
    /// Returns an error that names the feature to build with.
    pub(crate) fn new(_: Trust<'_>, _: Option<Identity<'_>>, _: bool) -> anyhow::Result<Connector> {
        bail!(
            "--cacert and --cert ask for TLS: build this program with the feature tls, of nanopace-cli or of nanopace-load"
        )
    }

    /// Cannot be called, because `new` always returns an error.
    #[expect(clippy::unused_async, reason = "as where there is TLS")]
    pub(crate) async fn connect<S>(&self, _: &Name, _: S) -> io::Result<Stream<S>> {
        match *self {}
    }
}

/// Returns false, because no stream has negotiated HTTP/2.
pub(crate) fn speaks_http2<S>(_: &Stream<S>) -> bool {
    false
}

/// Returns `None`, because TLS is never the cause of an error.
pub(crate) fn reason(_: &io::Error) -> Option<Tls> {
    None
}
