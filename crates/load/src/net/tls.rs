//! Whom the client trusts.

use anyhow::{Context, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

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

/// TLS 1.2 and 1.3, which offers HTTP/2 or HTTP/1.1.
pub fn config(trust: Trust<'_>, http2: bool) -> anyhow::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Anyone => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        }
        trust => builder.with_root_certificates(roots(trust)?),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(Arc::new(config))
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
                    "this system has no trusted certificates: give --cacert FILE, or --insecure \
                     to trust any"
                );
            }
        }
    }
    Ok(roots)
}

fn roots_of(path: &Path, roots: &mut RootCertStore) -> anyhow::Result<()> {
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add(certificate?)?;
    }
    if roots.is_empty() {
        bail!("there is no certificate in it");
    }
    Ok(())
}

/// Trusts any certificate, but still checks that the server has its key.
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
