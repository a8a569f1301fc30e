//! Provides certificates and TLS configurations for servers.

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::sync::Arc;

pub(crate) fn certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap()
}

pub(crate) fn config(
    own: &CertifiedKey<KeyPair>,
    client: Option<&CertifiedKey<KeyPair>>,
) -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    ServerConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(client.map_or_else(WebPkiClientVerifier::no_client_auth, only))
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap()
}

fn only(client: &CertifiedKey<KeyPair>) -> Arc<dyn ClientCertVerifier> {
    let mut clients = RootCertStore::empty();
    clients.add(client.cert.der().clone()).unwrap();
    let provider = Arc::new(default_provider());
    WebPkiClientVerifier::builder_with_provider(clients.into(), provider).build().unwrap()
}
