//! Defines the reasons why requests fail, and the kinds under which the failures are counted.

use super::request::body::Unreadable;
use crate::load::kind::FailureKind;
use crate::load::shortage::{GENERATOR, Shortage};
use crate::net::tls;
use crate::net::trust::Tls;
use hyper::StatusCode;
use std::fmt;
use std::io;

pub(crate) const LONGEST_HEAD: usize = 400 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The status of the response is neither a success nor a redirection. The body may be incomplete.
    Status(u16),
    Timeout,
    ConnectTimeout,
    Connection(io::ErrorKind),
    /// A system error that has no `ErrorKind`, with its code.
    System(i32),
    Shortage(Shortage),
    Proxy(u16),
    Tls(Tls),
    HungUp,
    /// The connection had already carried another request, and ended before any byte of this response arrived.
    ClosedIdle,
    /// The connection ended, and it is certain that the server has not processed the request.
    NotTaken,
    /// The server reset the stream of this request (RFC 9113, section 6.4) with this HTTP/2 error code.
    Reset(u8),
    Refused,
    /// The head has too many headers, or the head, a line with a chunk size or the trailers are too long.
    TooLarge,
    /// The response is not HTTP/2, its head is too long, or it has too many DATA frames that are empty or small. hyper
    /// reports the same errors in these cases.
    Unreadable,
    Protocol,
    Chunk,
    BodyFile,
    /// The path of an HTTP/2 request is longer than hyper can send.
    LongPath,
}

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
    pub(crate) fn judge(status: StatusCode) -> Result<(), Failure> {
        let is_fine = status.is_success() || status.is_redirection();
        if is_fine { Ok(()) } else { Err(Failure::Status(status.as_u16())) }
    }

    /// Returns the failure of a request for which the head of a response with `status` has arrived. An error status
    /// takes precedence, because a server that rejects a request may reset the connection before the client has read
    /// the whole response.
    pub(crate) fn after(self, status: StatusCode) -> Failure {
        match self {
            Failure::HungUp | Failure::Connection(_) => {
                Failure::judge(status).err().unwrap_or(self)
            }
            other => other,
        }
    }

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
            Failure::TooLarge | Failure::LongPath => "too-large",
            Failure::Unreadable | Failure::Protocol | Failure::Chunk => "protocol",
            Failure::BodyFile => "body-file",
        }
    }

    pub(crate) fn is_end(self) -> bool {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset};
        matches!(self, Failure::HungUp | Failure::Connection(ConnectionReset | ConnectionAborted))
    }

    pub(crate) fn is_without_route(self) -> bool {
        use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable};
        // Creating a socket can fail without an `ErrorKind`, for example for IPv6 on a machine without IPv6.
        matches!(
            self,
            Failure::Connection(HostUnreachable | NetworkDown | NetworkUnreachable)
                | Failure::System(_)
                | Failure::Shortage(Shortage::Ports)
        )
    }

    pub(crate) fn is_of_all_addresses(self) -> bool {
        matches!(self, Failure::Shortage(shortage) if shortage != Shortage::Ports)
    }

    pub(crate) fn of_connecting(error: &io::Error) -> Failure {
        Shortage::of_connecting(error).map_or_else(|| error.into(), Failure::Shortage)
    }

    pub(crate) fn spares_connection(self) -> bool {
        matches!(self, Failure::Reset(_) | Failure::Refused | Failure::LongPath)
    }
}

#[cfg(feature = "http2")]
fn reason(code: u8) -> impl fmt::Display {
    h2::Reason::from(u32::from(code))
}

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
            Failure::Connection(io::ErrorKind::NotFound) => f.write_str("no such socket"),
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
            Failure::TooLarge => f.write_str("the response has too many headers, or too long ones"),
            Failure::Unreadable => f.write_str(
                "not a valid HTTP/2 response, or its head is longer than 400 kB, or it has too many small frames",
            ),
            Failure::Protocol => f.write_str("not a valid HTTP response"),
            Failure::Chunk => f.write_str("the response has an invalid chunk"),
            Failure::BodyFile => Unreadable.fmt(f),
            Failure::LongPath => {
                f.write_str("the path is too long for HTTP/2 (65 534 bytes at most)")
            }
        }
    }
}

/// Converts a system error to a failure. With TLS 1.3, the server rejects a client certificate only after the
/// handshake, so a read or a write can return a TLS error.
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

fn unnamed() -> io::ErrorKind {
    io::Error::from_raw_os_error(i32::MAX).kind()
}

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
    fn each_failure_is_counted_in_one_of_the_groups() {
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
            Failure::LongPath,
        ];
        for failure in resets.chain(statuses).chain(others) {
            assert!(GROUPS.contains(&failure.kind().group()), "{failure}");
            assert_eq!(failure.kind().to_string(), failure.to_string());
        }
    }
}
