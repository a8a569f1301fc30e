//! In place of TLS, where that was left out: nobody can ask for it.

use super::trust::{Identity, Tls, Trust};
use anyhow::bail;
use std::io;

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum Name {}

impl Name {
    /// Refuses, and says what to build.
    pub(crate) fn new(_: &str) -> anyhow::Result<Name> {
        bail!(
            "https:// asks for TLS: build this program with the feature tls, of nanopace-cli or of nanopace-load"
        )
    }
}

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum Connector {}

/// A stream as it is.
pub(crate) type Stream<S> = S;

impl Connector {
    /// Refuses, and says what to build.
    pub(crate) fn new(_: Trust<'_>, _: Option<Identity<'_>>, _: bool) -> anyhow::Result<Connector> {
        bail!(
            "--cacert and --cert ask for TLS: build this program with the feature tls, of nanopace-cli or of nanopace-load"
        )
    }

    /// Nobody has this.
    #[expect(clippy::unused_async, reason = "as where there is TLS")]
    pub(crate) async fn connect<S>(&self, _: &Name, _: S) -> io::Result<Stream<S>> {
        match *self {}
    }
}

/// No stream does.
pub(crate) fn speaks_http2<S>(_: &Stream<S>) -> bool {
    false
}

/// It is not why.
pub(crate) fn reason(_: &io::Error) -> Option<Tls> {
    None
}
