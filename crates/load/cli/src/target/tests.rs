//! Tests the target through its clients.

use super::*;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nanopace_load::commands::TimeDistribution;
#[cfg(feature = "target-tls")]
use rustls::pki_types::pem::PemObject;
#[cfg(feature = "target-tls")]
use rustls::pki_types::{CertificateDer, ServerName};
#[cfg(feature = "target-tls")]
use rustls::{ClientConfig, RootCertStore};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
#[cfg(feature = "target-tls")]
use tokio_rustls::TlsConnector;
#[cfg(feature = "target-tls")]
use tokio_rustls::client::TlsStream;

/// The time limit for an event that happens either at once or never.
const PATIENCE: Duration = Duration::from_secs(60);
const PLAIN: &[u8] = b"GET / HTTP/1.1\r\nHost: target\r\n\r\n";

fn target(behaviour: Behaviour) -> Target {
    Target::start(&Behaviour { body: 3, ..behaviour }).unwrap()
}

fn constant(latency: Duration) -> Behaviour {
    Behaviour { latency: TimeDistribution::Constant(latency), ..Behaviour::default() }
}

fn request(method: Method, body: Bytes) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri("http://target/").body(Full::new(body)).unwrap()
}

fn get() -> Request<Full<Bytes>> {
    request(Method::GET, Bytes::new())
}

async fn connect(target: &Target) -> TcpStream {
    TcpStream::connect(target.address).await.unwrap()
}

async fn http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http1::SendRequest<Full<Bytes>> {
    let (client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http2::SendRequest<Full<Bytes>> {
    let stream = TokioIo::new(stream);
    let (client, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn read(response: hyper::Result<Response<Incoming>>) -> (StatusCode, Bytes) {
    let (head, body) = response.unwrap().into_parts();
    (head.status, body.collect().await.unwrap().to_bytes())
}

async fn assert_answers(target: &Target) {
    let answer = read(http1(connect(target).await).await.send_request(get()).await).await;
    assert_eq!(answer, (StatusCode::OK, Bytes::from_static(b"ok\n")));
}

#[cfg(feature = "target-tls")]
async fn tls(
    target: &Target,
    roots: RootCertStore,
    protocols: &[&str],
    name: &'static str,
) -> io::Result<TlsStream<TcpStream>> {
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, connect(target).await).await
}

#[cfg(feature = "target-tls")]
fn own_roots(target: &Target) -> RootCertStore {
    let certificate = target.certificate_pem().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    roots
}

#[tokio::test]
async fn one_connection_takes_many_requests() {
    let target = target(Behaviour::default());
    assert!(target.url().starts_with("http://127.0.0.1:"));
    let mut client = http1(connect(&target).await).await;
    let upload = Bytes::from(vec![0; 1 << 20]);
    for (method, body, answer) in [
        (Method::GET, Bytes::new(), "ok\n"),
        (Method::POST, upload, "ok\n"),
        (Method::HEAD, Bytes::new(), ""),
        (Method::GET, Bytes::new(), "ok\n"),
    ] {
        client.ready().await.unwrap();
        let response = client.send_request(request(method, body)).await;
        assert_eq!(read(response).await, (StatusCode::OK, Bytes::from(answer)));
    }
}

#[tokio::test]
async fn http2_needs_no_upgrade() {
    let target = target(Behaviour::default());
    let client = http2(connect(&target).await).await;
    let mut answers = JoinSet::new();
    for _ in 0..500 {
        let mut client = client.clone();
        answers.spawn(async move {
            let upload = request(Method::POST, Bytes::from(vec![0; 1 << 12]));
            read(client.send_request(upload).await).await
        });
    }
    for answer in answers.join_all().await {
        assert_eq!(answer, (StatusCode::OK, Bytes::from("ok\n")));
    }
}

#[cfg(feature = "target-tls")]
#[tokio::test]
async fn tls_is_trusted_under_each_name_and_settles_on_a_protocol() {
    let target = target(Behaviour { tls: true, ..Behaviour::default() });
    assert!(target.url().starts_with("https://127.0.0.1:"));
    for name in ["localhost", "127.0.0.1", "::1"] {
        for offered in [&["h2", "http/1.1"][..], &["h2"], &["http/1.1"], &[]] {
            let stream = tls(&target, own_roots(&target), offered, name).await.unwrap();
            let settled = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            assert_eq!(settled.as_deref(), offered.first().map(|it| it.as_bytes()));
            let answer = if offered.first() == Some(&"h2") {
                read(http2(stream).await.send_request(get()).await).await
            } else {
                read(http1(stream).await.send_request(get()).await).await
            };
            assert_eq!(answer, (StatusCode::OK, Bytes::from("ok\n")));
        }
    }
}

#[cfg(feature = "target-tls")]
#[tokio::test]
async fn other_clients_do_not_trust_the_certificate() {
    let [one, other] = [(); 2].map(|()| target(Behaviour { tls: true, ..Behaviour::default() }));
    for roots in [RootCertStore::empty(), own_roots(&other)] {
        assert!(tls(&one, roots, &[], "localhost").await.is_err());
    }
    assert!(tls(&one, own_roots(&one), &[], "example.com").await.is_err());
}

#[tokio::test]
async fn the_body_is_as_long_as_asked_for() {
    for (body, text) in [(0, &b""[..]), (1, b"o"), (7, b"ok\nok\no")] {
        let target = Target::start(&Behaviour { body, ..Behaviour::default() }).unwrap();
        let response = http1(connect(&target).await).await.send_request(get()).await;
        assert_eq!(read(response).await.1, text);
    }
}

#[tokio::test]
async fn the_share_of_errors_is_kept() {
    for (errors, status) in [("0%", StatusCode::OK), ("100%", StatusCode::INTERNAL_SERVER_ERROR)] {
        let errors = errors.parse().unwrap();
        let target = target(Behaviour { errors, ..Behaviour::default() });
        let mut client = http1(connect(&target).await).await;
        for _ in 0..100 {
            client.ready().await.unwrap();
            assert_eq!(read(client.send_request(get()).await).await.0, status);
        }
    }
}

#[tokio::test]
async fn a_stall_delays_responses_once_the_schedule_has_started() {
    let target = target(Behaviour { stall: "300ms@0s".parse().ok(), ..Behaviour::default() });
    assert_answers(&target).await;
    let start = Instant::now();
    target.schedule_starts();
    assert_answers(&target).await;
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn thousands_of_connections_get_responses_and_none_too_early() {
    const CONNECTIONS: usize = 2_000;
    const LATENCY: Duration = Duration::from_millis(50);
    allow_open_files(2 * CONNECTIONS as u64 + 1_000);
    let target = target(constant(LATENCY));
    let mut answers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let address = target.address;
        answers.spawn(async move {
            let mut client = http1(TcpStream::connect(address).await.unwrap()).await;
            let start = Instant::now();
            let answer = read(client.send_request(get()).await).await;
            (answer.0, start.elapsed() >= LATENCY)
        });
    }
    let answers = answers.join_all().await;
    assert_eq!(answers, vec![(StatusCode::OK, true); CONNECTIONS]);
}

fn allow_open_files(count: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current.is_some_and(|current| current < count) {
            limit.current = Some(count);
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}

#[tokio::test]
async fn an_invalid_request_ends_only_its_own_connection() {
    let target = target(Behaviour::default());
    for nonsense in [
        &b"\r\n\r\n\0\0"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot-a-length\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n and no frame of HTTP/2, but more than nine bytes",
        &[0x16, 0x03, 0x01, 0xff, 0xff],
        &vec![b'A'; 1 << 20],
    ] {
        let mut stream = connect(&target).await;
        // The server may close the connection before everything is written.
        let _ = stream.write_all(nonsense).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{nonsense:?}");
        assert_answers(&target).await;
    }
}

#[cfg(feature = "target-tls")]
#[tokio::test]
async fn bytes_that_are_not_tls_end_only_their_own_connection() {
    let target = target(Behaviour { tls: true, ..Behaviour::default() });
    let silent = connect(&target).await;
    for nonsense in [PLAIN, &[0x16, 0x03, 0x01, 0x00, 0x05, 1, 2, 3, 4, 5], &vec![0xff; 1 << 16]] {
        let mut stream = connect(&target).await;
        let _ = stream.write_all(nonsense).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
        assert!(tls(&target, own_roots(&target), &[], "localhost").await.is_ok());
    }
    drop(silent);
}

#[tokio::test]
async fn clients_that_hang_up_leave_nothing_behind() {
    let target = target(constant(Duration::from_secs(3_600)));
    let waiting = |count| {
        let sleepers = target.answerer.sleepers();
        let reached = async move {
            while sleepers.waiting() != count {
                sleep(Duration::from_millis(1)).await;
            }
        };
        async { timeout(PATIENCE, reached).await.unwrap() }
    };
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut stream = connect(&target).await;
        stream.write_all(PLAIN).await.unwrap();
        clients.push(stream);
    }
    let mut shared = http2(connect(&target).await).await;
    let stream = tokio::spawn(shared.send_request(get()));
    waiting(101).await;
    stream.abort();
    waiting(100).await;
    drop(clients);
    waiting(0).await;
}
