//! Defines which certificates the client trusts, which certificate it presents, and why TLS can fail.

use std::path::Path;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'a> {
    System,
    File(&'a Path),
    /// The client trusts only the certificate of the embedded target. The certificate is in PEM format.
    Only(&'a str),
    Anyone,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    /// A PEM file with the client's certificate, followed by its intermediate certificates.
    pub(crate) certificate: &'a Path,
    /// A PEM file with the private key. It may be the file of the certificate.
    pub(crate) key: &'a Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// The certificate is not signed by a trusted authority, or is invalid in another way.
    Untrusted,
    OtherName,
    Expired,
    /// The server rejects the client's certificate, or requires one although the client has none.
    NotKnown,
    NoHttp2,
    /// The server ended the handshake with an alert that is not about a certificate.
    BrokenOff,
    /// The server does not use TLS, does not support a version or a cipher of the client, or TLS failed in another way.
    NotAgreed,
}

impl Tls {
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
