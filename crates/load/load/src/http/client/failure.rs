//! How a request can fail.

use super::request::body::Unreadable;
use crate::load::kind::FailureKind;
use crate::load::shortage::{GENERATOR, Shortage};
use crate::net::tls;
use crate::net::trust::Tls;
use hyper::StatusCode;
use std::fmt;
use std::io;

/// The longest head of an answer, in bytes. A longer one is a failure.
pub(crate) const LONGEST_HEAD: usize = 400 * 1024;

/// Why a request counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An answer, but neither success nor redirection. Its body may be cut off.
    Status(u16),
    /// No complete answer within the timeout.
    Timeout,
    /// No connection within the time for it.
    ConnectTimeout,
    /// The connection could not be made or broke.
    Connection(io::ErrorKind),
    /// The same, with an error code of the system that has no such kind.
    System(i32),
    /// The generator's machine ran out of something.
    Shortage(Shortage),
    /// The proxy opens no way to the server, and answers with this status.
    Proxy(u16),
    /// TLS could not be agreed on, or the server's certificate is refused.
    Tls(Tls),
    /// The connection ended in the middle of an answer, or before it.
    HungUp,
    /// A connection that had carried other requests ended before any byte of the answer.
    ClosedIdle,
    /// The connection ended, and the server has certainly not processed the request.
    NotTaken,
    /// The server gave up this request alone (RFC 9113, section 6.4), by a code of HTTP/2.
    Reset(u8),
    /// The server gave up this request alone, and has certainly not processed it.
    Refused,
    /// The answer has too many headers, or too long ones.
    TooLarge,
    /// The answer is not HTTP/2, or its head is longer than it may be: HTTP/2 tells no difference.
    Unreadable,
    /// The answer is not HTTP.
    Protocol,
    /// The answer's body comes in chunks, one of which is none.
    Chunk,
    /// The file that is sent has become shorter, or can't be read any more.
    BodyFile,
}

/// What failures are counted as in metrics.
pub(crate) const GROUPS: [&str; 14] = [
    "status",
    "timeout",
    "connect-timeout",
    "connection",
    GENERATOR,
    "tls",
    "hung-up",
    "closed-while-idle",
    "not-taken",
    "reset",
    "refused",
    "too-large",
    "protocol",
    "body-file",
];

impl Failure {
    /// Whether an answer with this status is a success.
    pub(crate) fn judge(status: StatusCode) -> Result<(), Failure> {
        let is_fine = status.is_success() || status.is_redirection();
        if is_fine { Ok(()) } else { Err(Failure::Status(status.as_u16())) }
    }

    /// The failure of a request whose connection ended after the head of an answer. An error status says more than
    /// the end: a server that refuses a request may reset the connection before all of its answer has arrived.
    pub(crate) fn after(self, status: StatusCode) -> Failure {
        match self {
            Failure::HungUp | Failure::Connection(_) => {
                Failure::judge(status).err().unwrap_or(self)
            }
            other => other,
        }
    }

    /// Its kind, by which it is counted.
    pub(crate) fn kind(self) -> FailureKind {
        FailureKind::of_group(self.group(), &self.to_string())
    }

    fn group(self) -> &'static str {
        match self {
            Failure::Status(_) => "status",
            Failure::Timeout => "timeout",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::Connection(_) | Failure::System(_) | Failure::Proxy(_) => "connection",
            Failure::Shortage(_) => GENERATOR,
            Failure::Tls(_) => "tls",
            Failure::HungUp => "hung-up",
            Failure::ClosedIdle => "closed-while-idle",
            Failure::NotTaken => "not-taken",
            Failure::Reset(_) => "reset",
            Failure::Refused => "refused",
            Failure::TooLarge => "too-large",
            Failure::Unreadable | Failure::Protocol | Failure::Chunk => "protocol",
            Failure::BodyFile => "body-file",
        }
    }

    /// Whether the connection ended.
    pub(crate) fn is_end(self) -> bool {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset};
        matches!(self, Failure::HungUp | Failure::Connection(ConnectionReset | ConnectionAborted))
    }

    /// Whether there is no way to an address from this machine.
    pub(crate) fn is_without_route(self) -> bool {
        use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable};
        // Codes that have no kind are about making a socket, such as one for IPv6 where there is none.
        matches!(
            self,
            Failure::Connection(HostUnreachable | NetworkDown | NetworkUnreachable)
                | Failure::System(_)
                | Failure::Shortage(Shortage::Ports)
        )
    }

    /// Whether a failure to connect concerns all addresses alike.
    pub(crate) fn is_of_all_addresses(self) -> bool {
        matches!(self, Failure::Shortage(shortage) if shortage != Shortage::Ports)
    }

    /// The failure for an error of connecting.
    pub(crate) fn of_connecting(error: &io::Error) -> Failure {
        Shortage::of_connecting(error).map_or_else(|| error.into(), Failure::Shortage)
    }

    /// Whether the connection can take other requests.
    pub(crate) fn spares_connection(self) -> bool {
        matches!(self, Failure::Reset(_) | Failure::Refused)
    }
}

/// What a code of HTTP/2 says.
#[cfg(feature = "http2")]
fn reason(code: u8) -> impl fmt::Display {
    h2::Reason::from(u32::from(code))
}

/// Without HTTP/2 there is none.
#[cfg(not(feature = "http2"))]
fn reason(code: u8) -> impl fmt::Display {
    code
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::ConnectTimeout => f.write_str("timeout of the connection"),
            Failure::Connection(kind) => write!(f, "{kind}"),
            Failure::System(code) => f.write_str(&words(*code)),
            Failure::Shortage(shortage) => write!(f, "{shortage}"),
            Failure::Proxy(status) => {
                write!(f, "the proxy opens no way to the server: status {status}")
            }
            Failure::Tls(tls) => f.write_str(tls.text()),
            Failure::HungUp => f.write_str("the server hung up"),
            Failure::ClosedIdle => f.write_str("closed while idle"),
            Failure::NotTaken => f.write_str("the server closed the connection to new requests"),
            Failure::Reset(code) => {
                write!(f, "the server reset the stream: {}", reason(*code))
            }
            Failure::Refused => f.write_str("the server refused the stream"),
            Failure::TooLarge => f.write_str("the answer has too many headers, or too long ones"),
            Failure::Unreadable => {
                f.write_str("not a valid HTTP/2 answer, or its head is longer than 400 kB")
            }
            Failure::Protocol => f.write_str("not a valid HTTP answer"),
            Failure::Chunk => f.write_str("the answer has a chunk that is none"),
            Failure::BodyFile => Unreadable.fmt(f),
        }
    }
}

/// A server that does not read on has hung up. With TLS 1.3 it says only after the handshake that it does not
/// accept the client.
impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Failure {
        if let Some(shortage) = Shortage::of(error) {
            return Failure::Shortage(shortage);
        }
        match error.kind() {
            _ if tls::reason(error) == Some(Tls::NotKnown) => Failure::Tls(Tls::NotKnown),
            _ if Unreadable::is_why(error) => Failure::BodyFile,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => Failure::HungUp,
            kind => match error.raw_os_error().filter(|_| kind == unnamed()) {
                Some(code) => Failure::System(code),
                None => Failure::Connection(kind),
            },
        }
    }
}

/// The kind of errors that have none.
fn unnamed() -> io::ErrorKind {
    io::Error::from_raw_os_error(i32::MAX).kind()
}

/// The system's words for one of its codes.
fn words(code: i32) -> String {
    let text = io::Error::from_raw_os_error(code).to_string();
    let words = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    let mut chars = words.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn all_failures_are_counted_as_one_of_a_few() {
        let resets = (0..=u8::MAX).map(Failure::Reset);
        let statuses = (400..600).map(Failure::Status);
        let others = [
            Failure::Timeout,
            Failure::ConnectTimeout,
            Failure::Connection(ErrorKind::ConnectionReset),
            Failure::System(97),
            Failure::Shortage(Shortage::OpenFiles),
            Failure::Proxy(407),
            Failure::Tls(Tls::Expired),
            Failure::HungUp,
            Failure::ClosedIdle,
            Failure::NotTaken,
            Failure::Refused,
            Failure::TooLarge,
            Failure::Unreadable,
            Failure::Protocol,
            Failure::Chunk,
            Failure::BodyFile,
        ];
        for failure in resets.chain(statuses).chain(others) {
            assert!(GROUPS.contains(&failure.kind().group()), "{failure}");
            assert_eq!(failure.kind().to_string(), failure.to_string());
        }
    }
}
