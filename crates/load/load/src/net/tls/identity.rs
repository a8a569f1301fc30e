//! Reads the client's certificate and its private key from PEM files.

use crate::net::trust::Identity;
use anyhow::{Context, anyhow, bail, ensure};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{CertificateError, Error, InconsistentKeys};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const KINDS: &str = "RSA with 2048 to 4096 bits, ECDSA on P-256 or P-384, Ed25519";
/// The byte-order mark, which some editors write at the start of a file.
const MARK: &[u8] = "\u{feff}".as_bytes();

impl Identity<'_> {
    pub(super) fn read(self, provider: &CryptoProvider) -> anyhow::Result<CertifiedKey> {
        let [certificate, key] = [self.certificate, self.key].map(Path::display);
        let certificates = certificates(self.certificate)
            .with_context(|| format!("--cert: cannot use {certificate}"))?;
        let own = read_key(self.key, provider).with_context(|| {
            if self.key == self.certificate {
                format!("--cert: without --key, {key} must also contain the private key")
            } else {
                format!("--key: cannot use {key}")
            }
        })?;
        let both = CertifiedKey::new(certificates, own);
        match keys_match(&both) {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(both),
            Err(Error::InconsistentKeys(_)) => {
                bail!(
                    "--cert: the key in {key} does not belong to the certificate in {certificate}"
                )
            }
            Err(error) => {
                bail!("--cert: cannot use {certificate} with the key in {key}: {error}")
            }
        }
    }
}

/// Checks that a key belongs to its certificate. rustls cannot parse X.509 v1 certificates. Such a certificate only has
/// to contain the bytes of the public key, and the server decides whether it accepts the certificate.
fn keys_match(both: &CertifiedKey) -> Result<(), Error> {
    match (both.keys_match(), both.key.public_key(), both.cert.first()) {
        (
            Err(Error::InvalidCertificate(CertificateError::Other(_))),
            Some(key),
            Some(certificate),
        ) => {
            let is_in = certificate.windows(key.len()).any(|part| part == key.as_ref());
            is_in.then_some(()).ok_or(InconsistentKeys::KeyMismatch.into())
        }
        (matched, ..) => matched,
    }
}

pub(super) fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let text = fs::read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text_of(&text)).collect();
    let certificates = certificates.map_err(told)?;
    ensure!(!certificates.is_empty(), "there is no certificate in it");
    Ok(certificates)
}

fn read_key(path: &Path, provider: &CryptoProvider) -> anyhow::Result<Arc<dyn SigningKey>> {
    const HIDDEN: &[u8] = b"ENCRYPTED";
    let text = fs::read(path)?;
    let is_hidden = text.windows(HIDDEN.len()).any(|part| part == HIDDEN);
    let key = PrivateKeyDer::from_pem_slice(text_of(&text)).map_err(|error| match error {
        _ if is_hidden => anyhow!("the key in it is encrypted: decrypt it with `openssl pkey`"),
        pem::Error::NoItemsFound => anyhow!("there is no private key in it"),
        error => told(error),
    })?;
    provider
        .key_provider
        .load_private_key(key)
        .ok()
        .with_context(|| format!("the type of its key is not supported; use {KINDS}"))
}

fn text_of(file: &[u8]) -> &[u8] {
    file.strip_prefix(MARK).unwrap_or(file)
}

fn told(error: pem::Error) -> anyhow::Error {
    match error {
        pem::Error::MissingSectionEnd { .. } => {
            anyhow!("it is cut off: a section in it has no END line")
        }
        pem::Error::Base64Decode(_) => {
            anyhow!("the text between its BEGIN and END lines is not base64")
        }
        pem::Error::IllegalSectionStart { line } => {
            anyhow!("{:?} is not a valid BEGIN line", String::from_utf8_lossy(&line))
        }
        error => error.into(),
    }
}
