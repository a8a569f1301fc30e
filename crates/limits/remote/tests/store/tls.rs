//! Tests a connection with TLS.

use crate::common::patient;
use nanopace_remote::Remote;
use nanopace_services::{Product, Server};
use std::fs;
use std::net::TcpListener;
use std::process::Command;

const URL: &str = "NANOPACE_TEST_TLS_URL";

const THIS_TEST: &str = "tls::an_address_with_tls_works_and_a_stranger_is_not_trusted";

/// An environment variable makes the child process trust the server's certificate, so the child can connect.
#[test]
#[ignore = "needs Redis and Valkey"]
fn an_address_with_tls_works_and_a_stranger_is_not_trusted() {
    if let Ok(url) = std::env::var(URL) {
        let users = Remote::lazy_with(&url, patient()).unwrap().limits("1/day").build().unwrap();
        assert!(users.try_acquire("alice").is_ok());
        assert!(users.try_acquire("alice").is_err());
        return;
    }
    for product in Product::ALL {
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(&certificate, signed.cert.pem()).unwrap();
        fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = Server::with(product)
            .setting("tls-port", port.to_string())
            .setting("tls-cert-file", certificate.to_str().unwrap())
            .setting("tls-key-file", key.to_str().unwrap())
            .setting("tls-auth-clients", "no")
            .start();
        let _server = server.expect("a server that is built with TLS");
        let url = format!("rediss://127.0.0.1:{port}/");
        assert!(Remote::connect(&url).is_err(), "{product}: the certificate is not trusted");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--include-ignored", "--exact", THIS_TEST])
            .env(URL, &url)
            .env("SSL_CERT_FILE", &certificate)
            .output()
            .unwrap();
        assert!(child.status.success(), "{product}: {child:?}");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(said.contains(" 1 passed; 0 failed; 0 ignored"), "{product}: {said}");
    }
}
