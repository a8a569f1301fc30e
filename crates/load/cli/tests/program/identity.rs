//! Tests client certificates with a server that requires one.

use crate::command::{nanopace, object};
use crate::running::{file, refusal, unreachable};
use crate::server::serving;
use crate::tls::{certificate, config};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{CertifiedKey, KeyPair};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::process::Output;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::runtime::Builder as Runtime;
use tokio_rustls::TlsAcceptor;

/// A certificate of version 1, as older versions of `openssl x509 -req` create it, and its key.
const OLD: &str = "\
-----BEGIN CERTIFICATE-----
MIIBFjCBvQIUVb6OESb3l147E3K3sk0+XobSw1EwCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCdjEwIBcNMjYxMTI2MTkyMzUxWhgPMjEyNjExMDIxOTIzNTFaMA0xCzAJ
BgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhUwwvblRLehOyfcf
tGTrR43LEmqhuZcbsXNnkLn93xuL8B1v0UJb/+hsiGa7UObpXR/ZH7YrA8OLquOw
Gld8IDAKBggqhkjOPQQDAgNIADBFAiBftm+5yrbWGlE3jIoZSHgpwAuOCcgRFSJs
slNvR0jcUgIhAM8bbH1ys2PbZ5zxl9X0JkedAeMrWjvIGVTAWTfoNe9T
-----END CERTIFICATE-----
";
const OLD_KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggdBa3mokczg9UmAo
uV4BnbYd6ncmvYjt4XRJgwGrsFihRANCAASFTDC9uVEt6E7J9x+0ZOtHjcsSaqG5
lxuxc2eQuf3fG4vwHW/RQlv/6GyIZrtQ5uldH9kftisDw4uq47AaV3wg
-----END PRIVATE KEY-----
";
const P521: &str = "\
-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAEyE8mspeHEk5WASA
12mZXYK75+NOg0vAhqOgVZVeVbH0fUvsaTjz46Fi47IDttj3tepnU6+Tor4ihsr3
C6avwBKhgYkDgYYABADnFfr+o5RVKDqYVXJbriRf9khhmt/tq8I7es1q8m43IfZ4
djTHCGTShSTwYgVn3FdhwIbU0ou8+fmnrY85iY8XyQAXbWLxGKZ1MAaGE8DlEw4e
uXSOe766hmpm/BXl3pWHPjQrXXy+xnCrwwQ57n6ClYflwdf9gMNzE+LMbpx3i9uC
Iw==
-----END PRIVATE KEY-----
";

fn server(client: &CertifiedKey<KeyPair>) -> (String, String) {
    let own = certificate();
    let mut config = config(&own, Some(client));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    let address = serving(move |stream, _| {
        stream.set_nonblocking(true)?;
        let serve = async {
            let stream = tls.accept(TcpStream::from_std(stream)?).await?;
            let answer = |_: Request<Incoming>| async {
                Ok::<_, Infallible>(Response::new(String::from("in")))
            };
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            Ok(())
        };
        Runtime::new_current_thread().enable_all().build()?.block_on(serve)
    });
    let port = address.rsplit(':').next().unwrap().to_owned();
    (port, file("identity-server.pem", own.cert.pem()))
}

fn run(url: &str, args: &[&str]) -> Output {
    let few = format!("run --rate 1k/s --requests 12 --json - --url {url}");
    nanopace(&few).args(args).output().unwrap()
}

#[test]
fn only_clients_with_the_certificate_are_accepted() {
    let (client, other) = (certificate(), certificate());
    let (port, trusted) = server(&client);
    let url = format!("https://localhost:{port}/");
    let (pem, key) = (client.cert.pem(), client.signing_key.serialize_pem());
    let cert = file("identity-cert.pem", &pem);
    let both = file("identity-both.pem", format!("{key}{pem}"));
    let other_key = other.signing_key.serialize_pem();
    let other_both = file("identity-other-both.pem", format!("{}{other_key}", other.cert.pem()));
    let key = file("identity-key.pem", &key);
    for options in [&["--cert", &cert, "--key", &key][..], &["--cert", &both]] {
        for http2 in
            [&[][..], &["--http2"], &["--http2", "--streams", "3"], &["--disable-keepalive"]]
        {
            let output = run(&url, &[&["--cacert", &trusted], options, http2].concat());
            let results = object(&output);
            assert_eq!(results["statuses"]["200"], 12, "{results}");
            if http2 == ["--disable-keepalive"] {
                break;
            }
        }
    }
    for options in
        [&[][..], &["--http2"], &["--cert", &other_both], &["--http2", "--cert", &other_both]]
    {
        let output = run(&url, &[&["--cacert", &trusted], options].concat());
        assert!(unreachable(output).contains("no response from"), "{options:?}");
    }
}

#[test]
fn invalid_files_are_rejected() {
    let (client, other) = (certificate(), certificate());
    let (pem, key) = (client.cert.pem(), client.signing_key.serialize_pem());
    let cert = file("identity-wrong-cert.pem", &pem);
    let key_file = file("identity-wrong-key.pem", &key);
    let other = file("identity-wrong-other.pem", other.signing_key.serialize_pem());
    let empty = file("identity-wrong-empty.pem", "");
    let torn = file("identity-wrong-torn.pem", &pem[..pem.len() / 2]);
    let no_der = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    let no_der = file("identity-wrong-der.pem", no_der);
    let hidden = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let hidden = file("identity-wrong-hidden.pem", &hidden);
    let encrypted = key.replacen("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\n\n", 1);
    let encrypted = file("identity-wrong-encrypted.pem", &encrypted);
    let old = file("identity-wrong-old.pem", OLD);
    let p521 = file("identity-wrong-p521.pem", P521);
    let torn_key = file("identity-wrong-torn-key.pem", &key[..key.len() / 2]);
    for (options, told) in [
        (&["--cert", "/nonexistent/file"][..], "--cert: cannot use /nonexistent/file: "),
        (&["--cert", &cert], "must also contain the private key: there is no private key in it"),
        (
            &["--cert", &empty, "--key", &key_file],
            "identity-wrong-empty.pem: there is no certificate in it",
        ),
        (
            &["--cert", &torn, "--key", &key_file],
            "identity-wrong-torn.pem: it is cut off: a section in it has no END line",
        ),
        (&["--cert", &cert, "--key", &torn_key], "identity-wrong-torn-key.pem: it is cut off"),
        (&["--cert", &no_der, "--key", &key_file], "--cert: cannot use "),
        (
            &["--cert", &cert, "--key", &empty],
            "identity-wrong-empty.pem: there is no private key in it",
        ),
        (
            &["--cert", &cert, "--key", &hidden],
            "the key in it is encrypted: decrypt it with `openssl pkey`",
        ),
        (
            &["--cert", &cert, "--key", &encrypted],
            "the key in it is encrypted: decrypt it with `openssl pkey`",
        ),
        (
            &["--cert", &cert, "--key", &p521],
            "the type of its key is not supported; use RSA with 2048 to 4096 bits, ECDSA on P-256 or P-384, Ed25519",
        ),
        (&["--cert", &old, "--key", &key_file], "does not belong to the certificate in"),
        (&["--cert", &cert, "--key", "/nonexistent/file"], "--key: cannot use /nonexistent/file: "),
        (
            &["--cert", &cert, "--key", &other],
            "identity-wrong-other.pem does not belong to the certificate in",
        ),
        (&["--cert", &cert, "--key", &key_file, "--html", &key_file], "--key reads this file"),
    ] {
        for url in ["https://127.0.0.1:1/", "http://127.0.0.1:1/"] {
            let stderr = refusal(run(url, &[&["-k"], options].concat()));
            assert!(stderr.contains(told), "{url} {options:?}: {stderr}");
        }
    }
    for wrong in ["/nonexistent/file", &empty, &torn, &key_file] {
        for url in ["https://127.0.0.1:1/", "http://127.0.0.1:1/"] {
            let stderr = refusal(run(url, &["--cacert", wrong]));
            assert!(stderr.contains(&format!("--cacert: cannot use {wrong}")), "{url}: {stderr}");
        }
    }
}

#[test]
fn files_for_tls_are_accepted_without_tls() {
    let made = certificate();
    let both = format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem());
    let both = file("identity-unused.pem", &both);
    for options in
        [&["--cacert", &both][..], &["--cert", &both], &["--cacert", &both, "--cert", &both]]
    {
        let mut command = nanopace("run -n 3 --rate 1k/s");
        command.args(options).env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{options:?}: {output:?}");
    }
}

/// The error is about the connection instead of the certificate, because no server listens at the address.
#[test]
fn old_certificates_and_files_with_a_byte_order_mark_are_accepted() {
    let marked = |name, text| file(name, format!("\u{feff}{text}"));
    let (old, key) = (marked("identity-old.pem", OLD), marked("identity-old-key.pem", OLD_KEY));
    let stderr = unreachable(run("https://127.0.0.1:1/", &["-k", "--cert", &old, "--key", &key]));
    assert!(
        stderr.contains("no response from https://127.0.0.1:1/: connection refused"),
        "{stderr}"
    );
}

/// With TLS 1.2, some servers give no reason when they end the handshake because a certificate is missing.
#[test]
fn the_error_for_an_aborted_handshake_suggests_a_client_certificate() {
    let address = serving(|mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        // These bytes are the fatal alert handshake_failure (RFC 5246, section 7.2).
        stream.write_all(&[21, 3, 3, 0, 2, 2, 40])
    });
    let stderr = unreachable(run(&format!("https://{address}/"), &["-k"]));
    assert!(stderr.contains("the server broke off the handshake of TLS; "), "{stderr}");
    assert!(stderr.contains("or a client certificate (--cert and --key)"), "{stderr}");
}
