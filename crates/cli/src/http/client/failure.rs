//! How a request can fail.

use h2::Reason;
use hyper::client::conn::TrySendError;
use nanopace_load::load::kind::Kind;
use std::fmt;
use std::io;

/// The longest head of an answer, in bytes. A longer one is a failure.
pub(crate) const LONGEST_HEAD: usize = 400 * 1024;

/// Why a request counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An answer, but neither success nor redirection.
    Status(u16),
    /// No complete answer within the timeout.
    Timeout,
    /// No connection within the time for it.
    ConnectTimeout,
    /// The connection could not be made or broke.
    Connection(io::ErrorKind),
    /// TLS could not be agreed on, or the server's certificate is refused.
    Tls(Tls),
    /// The connection ended in the middle of an answer, or before it.
    HungUp,
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
}

/// Why there is no TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Nobody that is trusted has signed the certificate.
    Untrusted,
    /// The certificate is for other names.
    OtherName,
    /// The certificate is not valid now.
    Expired,
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// The other side does not speak TLS, or no version or cipher of ours.
    NotAgreed,
}

impl Tls {
    fn text(self) -> &'static str {
        match self {
            Tls::Untrusted => "the certificate is not trusted",
            Tls::OtherName => "the certificate is for another name",
            Tls::Expired => "the certificate is not valid at this time",
            Tls::NoHttp2 => "the server does not offer HTTP/2",
            Tls::NotAgreed => "no TLS could be agreed on",
        }
    }
}

impl From<&rustls::Error> for Tls {
    fn from(error: &rustls::Error) -> Tls {
        use rustls::{AlertDescription, CertificateError as Certificate, Error};
        match error {
            Error::AlertReceived(AlertDescription::NoApplicationProtocol)
            | Error::NoApplicationProtocol => Tls::NoHttp2,
            Error::InvalidCertificate(
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
            ) => Tls::OtherName,
            Error::InvalidCertificate(
                Certificate::Expired
                | Certificate::ExpiredContext { .. }
                | Certificate::NotValidYet
                | Certificate::NotValidYetContext { .. },
            ) => Tls::Expired,
            Error::InvalidCertificate(_) => Tls::Untrusted,
            _ => Tls::NotAgreed,
        }
    }
}

/// What failures are counted as in metrics.
pub(crate) const GROUPS: [&str; 11] = [
    "status",
    "timeout",
    "connect-timeout",
    "connection",
    "tls",
    "hung-up",
    "not-taken",
    "reset",
    "refused",
    "too-large",
    "protocol",
];

impl Failure {
    /// Its kind, by which it is counted.
    pub(crate) fn kind(self) -> Kind {
        Kind::of_group(self.group(), &self.to_string())
    }

    fn group(self) -> &'static str {
        match self {
            Failure::Status(_) => "status",
            Failure::Timeout => "timeout",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::Connection(_) => "connection",
            Failure::Tls(_) => "tls",
            Failure::HungUp => "hung-up",
            Failure::NotTaken => "not-taken",
            Failure::Reset(_) => "reset",
            Failure::Refused => "refused",
            Failure::TooLarge => "too-large",
            Failure::Unreadable | Failure::Protocol => "protocol",
        }
    }

    /// Whether the connection can take other requests.
    pub(crate) fn spares_connection(self) -> bool {
        matches!(self, Failure::Reset(_) | Failure::Refused)
    }

    /// What is wrong with the frames of the server.
    fn found_here(error: &h2::Error) -> Failure {
        match (error.is_reset(), error.reason()) {
            (true, Some(Reason::PROTOCOL_ERROR)) => Failure::Unreadable,
            (false, Some(Reason::ENHANCE_YOUR_CALM)) => Failure::TooLarge,
            _ => Failure::Protocol,
        }
    }

    /// What a frame of the server says: `RST_STREAM` or `GOAWAY` (RFC 9113, sections 6.4, 6.8 and 8.7).
    fn told_by_server(error: &h2::Error) -> Failure {
        match (error.is_reset(), error.reason()) {
            (true, Some(Reason::REFUSED_STREAM)) => Failure::Refused,
            (true, Some(reason)) => Failure::Reset(code(reason)),
            // The request came after the last one that the server takes on this connection.
            (false, Some(Reason::NO_ERROR)) => Failure::NotTaken,
            _ => Failure::HungUp,
        }
    }
}

/// Its number. Those that mean nothing are the same.
fn code(reason: Reason) -> u8 {
    u8::try_from(u32::from(reason)).unwrap_or(u8::MAX)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::ConnectTimeout => f.write_str("timeout of the connection"),
            Failure::Connection(kind) => write!(f, "{kind}"),
            Failure::Tls(tls) => f.write_str(tls.text()),
            Failure::HungUp => f.write_str("the server hung up"),
            Failure::NotTaken => f.write_str("the server closed the connection to new requests"),
            Failure::Reset(code) => {
                write!(f, "the server reset the stream: {}", Reason::from(u32::from(*code)))
            }
            Failure::Refused => f.write_str("the server refused the stream"),
            Failure::TooLarge => f.write_str("the answer has too many headers, or too long ones"),
            Failure::Unreadable => {
                f.write_str("not a valid HTTP/2 answer, or its head is longer than 400 kB")
            }
            Failure::Protocol => f.write_str("not a valid HTTP answer"),
        }
    }
}

impl<T> From<&TrySendError<T>> for Failure {
    fn from(error: &TrySendError<T>) -> Failure {
        // What was never written is given back.
        error.message().map_or_else(|| error.error().into(), |_| Failure::NotTaken)
    }
}

impl From<&hyper::Error> for Failure {
    fn from(error: &hyper::Error) -> Failure {
        let source = std::error::Error::source(error);
        let http2 = source.and_then(|source| source.downcast_ref::<h2::Error>());
        let io = source.and_then(|source| source.downcast_ref::<io::Error>());
        match io.or(http2.and_then(h2::Error::get_io)).map(io::Error::kind) {
            Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) => Failure::HungUp,
            Some(kind) => Failure::Connection(kind),
            None if error.is_incomplete_message() || error.is_canceled() => Failure::HungUp,
            None => match http2 {
                Some(error) if error.is_remote() => Failure::told_by_server(error),
                Some(error) => Failure::found_here(error),
                None => Failure::Protocol,
            },
        }
    }
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
            Failure::Tls(Tls::Expired),
            Failure::HungUp,
            Failure::NotTaken,
            Failure::Refused,
            Failure::TooLarge,
            Failure::Unreadable,
            Failure::Protocol,
        ];
        for failure in resets.chain(statuses).chain(others) {
            assert!(GROUPS.contains(&failure.kind().group()), "{failure}");
            assert_eq!(failure.kind().to_string(), failure.to_string());
        }
    }
}
