//! Whom the client trusts, and why there is no TLS.

use std::path::Path;

/// Whose certificates are trusted.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// Certificates that the system trusts.
    System,
    /// Certificates in a PEM file.
    File(&'a Path),
    /// Only this certificate, as PEM: the embedded target's.
    Only(&'a str),
    /// Every certificate.
    Anyone,
}

/// Why there is no TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
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
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Tls::Untrusted => "the certificate is not trusted",
            Tls::OtherName => "the certificate is for another name",
            Tls::Expired => "the certificate is not valid at this time",
            Tls::NoHttp2 => "the server does not offer HTTP/2",
            Tls::NotAgreed => "no TLS could be agreed on",
        }
    }
}
