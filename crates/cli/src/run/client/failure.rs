//! How a request can fail.

use std::fmt;
use std::io;

/// Why a request counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// An answer, but neither success nor redirection.
    Status(u16),
    /// No complete answer within the timeout.
    Timeout,
    /// No connection within the time for it.
    ConnectTimeout,
    /// The connection could not be made or broke.
    Connection(io::ErrorKind),
    /// TLS could not be agreed on, or the server's certificate is not trusted.
    Tls,
    /// The connection ended in the middle of an answer, or before it.
    HungUp,
    /// The answer is not HTTP.
    Protocol,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::ConnectTimeout => f.write_str("timeout of the connection"),
            Failure::Connection(kind) => write!(f, "{kind}"),
            Failure::Tls => f.write_str("TLS refused"),
            Failure::HungUp => f.write_str("the server hung up"),
            Failure::Protocol => f.write_str("not a valid HTTP answer"),
        }
    }
}

impl From<&hyper::Error> for Failure {
    fn from(error: &hyper::Error) -> Failure {
        let io = std::error::Error::source(error).and_then(|source| source.downcast_ref());
        match io {
            Some(io) if kind(io) == io::ErrorKind::UnexpectedEof => Failure::HungUp,
            Some(io) => Failure::Connection(kind(io)),
            None if error.is_incomplete_message() || error.is_canceled() => Failure::HungUp,
            None => Failure::Protocol,
        }
    }
}

fn kind(error: &io::Error) -> io::ErrorKind {
    error.kind()
}
