//! Tests servers that close a reused connection before they send the first byte of the next response.

use super::{block_on, plan, session};
use crate::http::client::plan::Plan;
use crate::http::client::session::Answer;
use nanopace::Nanos;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::time::sleep;

const IDLE: &str = "closed while idle";
const HUNG_UP: &str = "the server hung up";

/// Starts a server. Each word of `words` describes a connection, and each of its letters is the server's action on a
/// request: respond (`a`), close the connection (`c`), reset it (`r`), or break it off during the response (`b`).
fn serve(words: &str) -> SocketAddr {
    serve_by(words, |tcp, acts| acts.chars().try_for_each(|act| act_on(&mut &*tcp, tcp, act)))
}

fn serve_by(
    words: &str,
    serve: impl Fn(&TcpStream, &str) -> io::Result<()> + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
    thread::spawn(move || {
        for (stream, acts) in listener.incoming().flatten().zip(words) {
            let _ = serve(&stream, &acts);
        }
    });
    address
}

fn act_on(stream: &mut (impl Read + Write), tcp: &TcpStream, act: char) -> io::Result<()> {
    if act == 'r' {
        // The request is not read, because closing a connection with an unread request resets the connection.
        while tcp.peek(&mut [0])? == 0 {}
        return Ok(());
    }
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    match act {
        'a' => stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"),
        'b' => stream.write_all(b"H").and_then(|()| tcp.shutdown(Shutdown::Both)),
        _ => tcp.shutdown(Shutdown::Both),
    }
}

fn send(plan: &Arc<Plan>, requests: u64) -> Vec<Answer> {
    block_on(async {
        let mut session = session(plan);
        let mut answers = Vec::new();
        for number in 0..requests {
            answers.push(session.send(number, Nanos::ZERO).await.0);
        }
        answers
    })
}

fn told(answer: &Answer) -> (String, bool) {
    let told = match answer.status {
        Ok(status) => status.as_u16().to_string(),
        Err(failure) => failure.to_string(),
    };
    (told, answer.is_retried)
}

fn check(options: &[&str], words: &str, expected: &[(&str, bool)]) {
    check_at(&format!("http://{}/", serve(words)), options, words, expected);
}

fn check_at(url: &str, options: &[&str], words: &str, expected: &[(&str, bool)]) {
    let plan = plan(url, options, Duration::from_secs(60)).unwrap();
    let answers: Vec<_> = send(&plan, expected.len() as u64).iter().map(told).collect();
    let expected: Vec<_> =
        expected.iter().map(|(told, is_retried)| ((*told).to_owned(), *is_retried)).collect();
    assert_eq!(answers, expected, "{options:?} {words}");
}

#[test]
fn a_safe_request_is_sent_again_once_on_a_new_connection() {
    let expected = [("204", false), ("204", true), ("204", false)];
    for words in ["ac aa", "ar aa"] {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
            check(&["-X", method], words, &expected);
        }
        check(&["-H", "X: {{slot}}"], words, &expected);
    }
}

#[test]
fn other_requests_fail_with_a_kind_of_their_own() {
    let expected = [("204", false), (IDLE, false), ("204", false)];
    for words in ["ac a", "ar a"] {
        for options in
            [&["-X", "POST"][..], &["-X", "DELETE"], &["-X", "get"], &["--no-retry-idle"]]
        {
            check(options, words, &expected);
        }
    }
}

#[test]
fn a_connection_that_ends_otherwise_was_not_idle() {
    let (well, hung_up, reset) = (("204", false), (HUNG_UP, false), ("connection reset", false));
    // The connection was opened for this request, so the request is not retried.
    check(&[], "c a", &[hung_up, well]);
    check(&[], "r a", &[reset, well]);
    check(&[], "ab a", &[well, hung_up, well]);
}

#[test]
fn a_request_that_is_sent_again_may_fail_as_well() {
    for words in ["ac c a", "ac b a"] {
        check(&[], words, &[("204", false), (HUNG_UP, true), ("204", false)]);
    }
    check(&[], "ac r a", &[("204", false), ("connection reset", true), ("204", false)]);
}

#[test]
fn a_request_that_is_sent_again_counts_once() {
    let plan = plan(&format!("http://{}/", serve("ac a")), &[], Duration::from_secs(60)).unwrap();
    let [first, again] = send(&plan, 2).try_into().unwrap();
    assert_eq!(again.traffic, (first.traffic.0, 2 * first.traffic.1));
}

#[test]
fn a_connection_with_unsolicited_bytes_is_never_used_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (answered, is_answered) = mpsc::channel();
    let (sent, is_sent) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        act_on(&mut &stream, &stream, 'a').unwrap();
        is_answered.recv().unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        sent.send(()).unwrap();
        let _ = act_on(&mut &stream, &stream, 'a');
    });
    let plan = plan(&url, &[], Duration::from_secs(60)).unwrap();
    block_on(async {
        let mut session = session(&plan);
        assert_eq!(told(&session.send(0, Nanos::ZERO).await.0).0, "204");
        answered.send(()).unwrap();
        is_sent.recv().unwrap();
        for number in 1..3 {
            // The runtime notices the bytes only while its thread sleeps.
            sleep(Duration::from_millis(1)).await;
            let answer = session.send(number, Nanos::ZERO).await.0;
            assert!(answer.status.is_err() && !answer.is_sent, "{number}: {answer:?}");
        }
    });
}

#[cfg(feature = "tls")]
#[test]
fn connections_with_tls_may_be_closed_while_idle() {
    use rustls::{ServerConnection, Stream};
    let config = super::server::tls_config();
    for words in ["ac aa", "ar aa"] {
        let config = Arc::clone(&config);
        let address = serve_by(words, move |tcp, acts| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            let mut stream = tcp;
            let mut stream = Stream::new(&mut tls, &mut stream);
            acts.chars().try_for_each(|act| act_on(&mut stream, tcp, act))
        });
        let expected = [("204", false), ("204", true), ("204", false)];
        check_at(&format!("https://{address}/"), &[], words, &expected);
    }
}
