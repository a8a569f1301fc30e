//! What is counted of an operation besides its times.

use std::time::Duration;

/// What is counted of an operation besides its times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Details {
    /// The status of its answer, if answers have one.
    pub(crate) status: Option<u16>,
    /// The connection that was opened for it, if one was.
    pub(crate) set_up: Option<SetUp>,
    /// By which it is counted apart, too.
    pub(crate) label: Option<&'static str>,
    /// Bytes read and written.
    pub(crate) traffic: (u64, u64),
}

/// How long it took to open a connection.
#[derive(Clone, Copy, Debug)]
pub struct SetUp {
    /// TCP, or the Unix socket; or all of it, if nothing more is known.
    pub connect: Duration,
    /// The TLS handshake, if there was one.
    pub tls: Option<Duration>,
}
