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
    /// TLS could not be agreed on, or the server's certificate is refused.
    Tls(Tls),
    /// The connection ended in the middle of an answer, or before it.
    HungUp,
    /// The answer is not HTTP.
    Protocol,
}

/// Why there is no TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::ConnectTimeout => f.write_str("timeout of the connection"),
            Failure::Connection(kind) => write!(f, "{kind}"),
            Failure::Tls(tls) => f.write_str(tls.text()),
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
