//! Opens TLS connections to servers with rustls.

mod identity;

use super::trust::{Identity, Tls, Trust};
use anyhow::{Context, bail};
use identity::certificates;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{
    AlertDescription, CertificateError as Certificate, ClientConfig, DigitallySignedStruct, Error,
    RootCertStore, SignatureScheme,
};
use std::fmt::{self, Debug, Formatter};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
pub(crate) use tokio_rustls::client::TlsStream as Stream;

#[derive(Clone, Debug)]
pub(crate) struct Name(ServerName<'static>);

impl Name {
    /// Creates the name for a host: a DNS name, or an IP address without brackets.
    pub(crate) fn new(host: &str) -> anyhow::Result<Name> {
        let name = ServerName::try_from(host.to_owned());
        name.map(Name).with_context(|| {
            format!(
                "{host:?} cannot be the name in a certificate: write a DNS name or an IP address"
            )
        })
    }
}

#[derive(Clone)]
pub(crate) struct Connector(TlsConnector);

impl Connector {
    pub(crate) fn new(
        trust: Trust<'_>,
        identity: Option<Identity<'_>>,
        http2: bool,
    ) -> anyhow::Result<Connector> {
        Ok(Connector(config(trust, identity, http2)?.into()))
    }

    pub(crate) async fn connect<S>(&self, name: &Name, stream: S) -> io::Result<Stream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.0.connect(name.0.clone(), stream).await
    }
}

impl Debug for Connector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

pub(crate) fn speaks_http2<S>(stream: &Stream<S>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

/// Returns the reason why TLS failed, or `None` if TLS did not cause the error.
pub(crate) fn reason(error: &io::Error) -> Option<Tls> {
    error.get_ref().and_then(|source| source.downcast_ref::<Error>()).map(Tls::from)
}

fn config(
    trust: Trust<'_>,
    identity: Option<Identity<'_>>,
    http2: bool,
) -> anyhow::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Anyone => {
            let anyone = Anyone(Arc::clone(&provider));
            builder.dangerous().with_custom_certificate_verifier(Arc::new(anyone))
        }
        trust => builder.with_root_certificates(roots(trust)?),
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let own = SingleCertAndKey::from(identity.read(&provider)?);
            builder.with_client_cert_resolver(Arc::new(own))
        }
    };
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(Arc::new(config))
}

impl From<&Error> for Tls {
    fn from(error: &Error) -> Tls {
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
            Error::AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::NoCertificate
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA,
            ) => Tls::NotKnown,
            Error::AlertReceived(_) => Tls::BrokenOff,
            _ => Tls::NotAgreed,
        }
    }
}

fn roots(trust: Trust<'_>) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::File(path) => roots_of(path, &mut roots)
            .with_context(|| format!("--cacert: cannot use {}", path.display()))?,
        Trust::Only(pem) => roots.add(CertificateDer::from_pem_slice(pem.as_bytes())?)?,
        Trust::System | Trust::Anyone => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                bail!(
                    "this system has no trusted certificates: install CA certificates or, for the target, \
                     give --cacert FILE or --insecure"
                );
            }
        }
    }
    Ok(roots)
}

fn roots_of(path: &Path, roots: &mut RootCertStore) -> anyhow::Result<()> {
    certificates(path)?.into_iter().try_for_each(|certificate| Ok(roots.add(certificate)?))
}

/// Accepts any certificate, but checks that the server has the certificate's private key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
