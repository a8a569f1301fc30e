//! Sets up TLS for the embedded target.

use anyhow::Context;
use rcgen::CertifiedKey;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(super) type Acceptor = TlsAcceptor;

pub(super) struct Identity {
    pub(super) acceptor: Acceptor,
    pub(super) certificate_pem: String,
}

impl Identity {
    pub(super) fn new() -> anyhow::Result<Identity> {
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(NAMES.map(str::to_owned))
                .context("cannot make a certificate")?;
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)?;
        let http2 = cfg!(feature = "http2").then(|| b"h2".to_vec());
        config.alpn_protocols = http2.into_iter().chain([b"http/1.1".to_vec()]).collect();
        Ok(Identity { acceptor: Arc::new(config).into(), certificate_pem: cert.pem() })
    }
}
