//! One operation, and how it can fail.

use nanopace::Nanos;
use std::fmt;
use std::io;

/// One operation from its slot to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// When the schedule wanted it to start.
    pub(crate) intended_start: Nanos,
    /// When its worker was done with the operation before it.
    pub(crate) worker_free: Nanos,
    /// When it started.
    pub(crate) start: Nanos,
    /// When it ended, successfully or not.
    pub(crate) end: Nanos,
    /// How it ended.
    pub(crate) outcome: Result<(), Failure>,
}

/// Why a request counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// An answer, but neither success nor redirection.
    Status(u16),
    /// No complete answer within the timeout.
    Timeout,
    /// The connection could not be made or broke.
    Connection(io::ErrorKind),
    /// The host name has no address.
    UnknownHost,
    /// The answer is not HTTP.
    Protocol,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::Connection(kind) => write!(f, "{kind}"),
            Failure::UnknownHost => f.write_str("unknown host"),
            Failure::Protocol => f.write_str("not a valid HTTP answer"),
        }
    }
}
