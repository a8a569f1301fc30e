//! Whom the client trusts, who it is, and why there is no TLS.

use std::path::Path;

/// Whose certificates are trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'a> {
    /// Certificates that the system trusts.
    System,
    /// Certificates in a PEM file.
    File(&'a Path),
    /// Only this certificate, as PEM: the embedded target's.
    Only(&'a str),
    /// Every certificate.
    Anyone,
}

/// Who the client is, for servers that ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    /// A PEM file with its certificate, before those that vouch for it.
    pub(crate) certificate: &'a Path,
    /// One with the private key of the certificate. It may be the same.
    pub(crate) key: &'a Path,
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
    /// The server refuses the certificate of the client, or that it has none.
    NotKnown,
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// The server ended the handshake and says no more: over a version or cipher, or for want of a certificate.
    BrokenOff,
    /// The other side does not speak TLS, or no version or cipher of ours.
    NotAgreed,
}

impl Tls {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Tls::Untrusted => "the certificate is not trusted",
            Tls::OtherName => "the certificate is for another name",
            Tls::Expired => "the certificate is not valid at this time",
            Tls::NotKnown => "the server does not accept the client's certificate, or wants one",
            Tls::NoHttp2 => "the server does not offer HTTP/2",
            Tls::BrokenOff => "the server broke off the handshake of TLS",
            Tls::NotAgreed => "no TLS could be agreed on",
        }
    }
}
