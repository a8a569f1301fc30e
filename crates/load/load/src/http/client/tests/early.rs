//! Tests servers that respond before they have read the whole request, and then stop reading.

use super::broken::{Broken, RESET};
use super::{block_on, plan, session};
use crate::http::client::failure::Failure;
use crate::http::client::transport::http1::Connection;
use crate::http::client::transport::http1::head::ExpectedResponse;
use crate::http::client::transport::http1::request::Outgoing;
use crate::running::workers::deadline::Deadline;
use nanopace::Nanos;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const END: Result<(), ErrorKind> = Ok(());

fn outcome(
    write_error: ErrorKind,
    arriving: &[&'static str],
    read_end: Result<(), ErrorKind>,
) -> (Result<u16, Failure>, u64) {
    let mut broken = Broken { takes: 10, ..Broken::new(write_error, read_end) };
    broken.parts.extend(arriving.iter().map(|part| part.as_bytes().to_vec()));
    let mut connection = Connection::new(Box::new(broken));
    let (parts, asked) =
        ([&b"POST / HTTP/1.1\r\n\r\n"[..], b"body", b"", b"", b""], ExpectedResponse::Whole);
    let request = Outgoing { parts, file: None, asked, is_last: false };
    let status = block_on(async {
        let mut deadline = Deadline::new(Duration::from_secs(60));
        connection.exchange(&request, &mut deadline, None).await
    });
    assert!(connection.is_over());
    let (read, written) = connection.take_traffic();
    assert_eq!(written, 10);
    (status.map(|status| status.as_u16()), read)
}

#[test]
fn a_response_is_read_after_sending_has_failed() {
    const HEAD: &str = "HTTP/1.1 413 X\r\ncontent-length: 3\r\n\r\n";
    const CHUNKED: &str = "HTTP/1.1 429 X\r\ntransfer-encoding: chunked\r\n\r\n";
    const TO_THE_END: &str = "HTTP/1.1 503 X\r\n\r\n";
    const FINE: &str = "HTTP/1.1 200 X\r\ncontent-length: 3\r\n\r\n";
    const FINE_TO_THE_END: &str = "HTTP/1.1 200 X\r\n\r\n";
    let reset = Err(Failure::Connection(RESET));
    let hung_up = Err(Failure::HungUp);
    let cut = |status| Err(Failure::Status(status));
    for error in [RESET, ErrorKind::BrokenPipe, ErrorKind::ConnectionAborted] {
        let kept = Err(Failure::from(&io::Error::from(error)));
        for end in [END, Err(RESET), Err(ErrorKind::BrokenPipe)] {
            for (parts, expected) in [
                (&[HEAD, "too"][..], Ok(413)),
                (&["HTTP/1.1 41", "3 X\r\ncontent-length: 0\r\n", "\r\n"], Ok(413)),
                (&["HTTP/1.1 100 Continue\r\n\r\n", HEAD, "t", "oo"], Ok(413)),
                (&[CHUNKED, "3\r\ntoo\r\n0\r\n\r\n"], Ok(429)),
                (&[FINE, "yes"], Ok(200)),
                // Only the head was read completely, so the status is the result.
                (&[HEAD, "to"], cut(413)),
                (&[CHUNKED, "3\r\nt"], cut(429)),
                // The head was not read completely, so the first error is the result.
                (&[], kept),
                (&["HTTP/1.1 413 X\r\n"], kept),
                (&["HTTP/1.1 100 Continue\r\n\r\n"], kept),
                (&[FINE, "ye"], kept),
                (&["nonsense\r\n\r\n"], Err(Failure::Protocol)),
            ] {
                let read: usize = parts.iter().map(|part| part.len()).sum();
                let told = format!("{error} {end:?} {parts:?}");
                assert_eq!(outcome(error, parts, end), (expected, read as u64), "{told}");
            }
        }
    }
    // After a broken pipe, a response without a length is complete when the stream ends. After a reset, it may be
    // incomplete.
    for (error, end, head, expected) in [
        (ErrorKind::BrokenPipe, END, TO_THE_END, Ok(503)),
        (ErrorKind::BrokenPipe, END, FINE_TO_THE_END, Ok(200)),
        (RESET, END, TO_THE_END, cut(503)),
        (RESET, END, FINE_TO_THE_END, reset),
        (RESET, Err(RESET), TO_THE_END, cut(503)),
        (RESET, Err(RESET), FINE_TO_THE_END, reset),
        (ErrorKind::BrokenPipe, Err(RESET), FINE_TO_THE_END, hung_up),
    ] {
        let read = (head.len() + 1) as u64;
        assert_eq!(outcome(error, &[head, "x"], end), (expected, read), "{error} {end:?} {head}");
    }
}

#[test]
fn reading_on_ends_with_the_timeout() {
    for arriving in [&[][..], &["HTTP/1.1 413 X\r\ncontent-length: 3\r\n\r\nto"]] {
        let mut broken = Broken::new(RESET, Err(ErrorKind::WouldBlock));
        broken.parts.extend(arriving.iter().map(|part: &&str| part.as_bytes().to_vec()));
        let mut connection = Connection::new(Box::new(broken));
        let (parts, asked) = ([&b"request"[..], b"", b"", b"", b""], ExpectedResponse::Whole);
        let request = Outgoing { parts, file: None, asked, is_last: false };
        let status = block_on(async {
            let mut deadline = Deadline::new(Duration::from_millis(20));
            connection.exchange(&request, &mut deadline, None).await
        });
        assert_eq!((status, connection.is_over()), (Err(Failure::Timeout), true), "{arriving:?}");
    }
}

fn refuse(mut stream: impl Read + Write, answer: &[u8]) {
    let _ = stream.read(&mut [0; 100]).and_then(|_| stream.write_all(answer));
    let _ = stream.flush();
}

fn tcp(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let refuse = move |stream| refuse(stream, &answer);
    thread::spawn(move || listener.incoming().flatten().for_each(refuse));
    url
}

#[cfg(unix)]
fn unix(answer: Vec<u8>, path: &Path) {
    let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    let refuse = move |stream| refuse(stream, &answer);
    thread::spawn(move || listener.incoming().flatten().for_each(refuse));
}

#[cfg(feature = "tls")]
fn tls(answer: Vec<u8>) -> String {
    let config = super::server::tls_config();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let refuse = move |stream: TcpStream| {
        // With Nagle's algorithm, the response would wait until the client acknowledges the session tickets, and a
        // reset would discard it.
        stream.set_nodelay(true).unwrap();
        let server = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        refuse(rustls::StreamOwned::new(server, stream), &answer);
    };
    thread::spawn(move || listener.incoming().flatten().for_each(refuse));
    url
}

/// Checks the status of two requests. The body of one request is in memory. The body of the other request is read from
/// a file while it is sent.
fn assert_refused(url: &str, options: &[&str], status: u16) {
    let folder = TempDir::new().unwrap();
    for bytes in [20 << 20, (64 << 20) + 5] {
        let path = folder.path().join(bytes.to_string());
        // The file is not UTF-8, so it contains no placeholders.
        fs::write(&path, b"\xff").unwrap();
        File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        let body = ["--body-file", path.to_str().unwrap()];
        let plan = plan(url, &[&body, options].concat(), Duration::from_secs(600)).unwrap();
        block_on(async {
            let mut session = session(&plan);
            for _ in 0..2 {
                let (answer, _) = session.send(0, Nanos::ZERO).await;
                let told = format!("{url} {options:?} {answer:?}");
                assert_eq!(answer.outcome(), Err(Failure::Status(status)), "{told}");
                assert!(answer.set_up.is_some(), "{told}");
            }
        });
    }
}

#[test]
fn the_status_of_a_server_that_stops_reading_is_reported() {
    let answers = [
        (413, "connection: close\r\ncontent-length: 3\r\n\r\ntoo".to_owned()),
        (401, "transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".to_owned()),
        (429, "\r\nup to the end".to_owned()),
        // The body is too large for the buffers of the connection.
        (503, format!("content-length: 9000000\r\n\r\n{}", "x".repeat(9_000_000))),
    ];
    let folder = TempDir::new().unwrap();
    for (status, rest) in answers {
        let answer = format!("HTTP/1.1 {status} X\r\n{rest}").into_bytes();
        assert_refused(&tcp(answer.clone()), &[], status);
        #[cfg(target_os = "linux")]
        assert_refused(&tcp(answer.clone()), &["--kernel-timestamps"], status);
        // One transport is enough for long responses, because all transports read them in the same way.
        if answer.len() > 1_000_000 {
            continue;
        }
        #[cfg(feature = "tls")]
        assert_refused(&tls(answer.clone()), &[], status);
        #[cfg(unix)]
        {
            let path = folder.path().join(status.to_string());
            unix(answer, &path);
            let options = ["--unix-socket", path.to_str().unwrap()];
            assert_refused("http://localhost/", &options, status);
        }
    }
}

#[test]
fn a_server_need_not_read_a_request_that_it_has_responded_to() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            stream.read_exact(&mut [0; 100]).unwrap();
            stream.write_all(b"HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n").unwrap();
            kept.push(stream);
        }
    });
    assert_refused(&url, &[], 413);
}
