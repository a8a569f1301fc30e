//! Runs a server that gives each request the same response, and passes the requests to the test.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// The length of a pause. During a pause, the client usually reads the part before it. No test result depends on that.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) parts: Vec<Vec<u8>>,
    /// Whether the server responds after the head of the request, and never reads the rest of the request.
    pub(super) is_early: bool,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Waits,
    Closes,
    Resets,
    Goes(&'static [u8]),
}

pub(super) struct Server {
    pub(super) url: String,
    /// Receives each request, after the server has written the response.
    pub(super) requests: Receiver<Vec<u8>>,
}

impl Server {
    pub(super) fn start(answer: Answer) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, answer) = (sender.clone(), answer.clone());
                thread::spawn(move || serve(stream, &answer, &sender));
            }
        });
        Server { url, requests }
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, served: &Sender<Vec<u8>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if answer.then == Then::Resets {
        return reset(&mut stream, answer, served);
    }
    let mut requests = BufReader::new(stream.try_clone()?);
    loop {
        let mut request = head(&mut requests)?;
        if !answer.is_early {
            body(&mut requests, &mut request)?;
        }
        let written = write(&mut stream, answer);
        if answer.is_early {
            loop {
                thread::park();
            }
        }
        let next = written.and_then(|()| end(&mut stream, answer.then));
        let _ = served.send(request);
        next?;
    }
}

/// Writes the response, and closes the connection while the request is unread, which resets the connection.
fn reset(stream: &mut TcpStream, answer: &Answer, served: &Sender<Vec<u8>>) -> io::Result<()> {
    let mut request = [0];
    while stream.peek(&mut request)? == 0 {}
    write(stream, answer)?;
    thread::sleep(PAUSE * 5);
    let _ = served.send(request.to_vec());
    Ok(())
}

fn write(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    for (index, part) in answer.parts.iter().enumerate() {
        if index > 0 {
            thread::sleep(PAUSE);
        }
        stream.write_all(part)?;
    }
    Ok(())
}

fn end(stream: &mut TcpStream, then: Then) -> io::Result<()> {
    match then {
        Then::Waits => Ok(()),
        Then::Goes(unasked) => {
            thread::sleep(PAUSE);
            stream.write_all(unasked)
        }
        Then::Closes => stream.shutdown(Shutdown::Both),
        Then::Resets => unreachable!("it has not read the request"),
    }
}

fn head(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

fn body(stream: &mut impl BufRead, request: &mut Vec<u8>) -> io::Result<()> {
    let head = String::from_utf8_lossy(request).to_ascii_lowercase();
    if head.contains("\r\ntransfer-encoding:") {
        while !request.ends_with(b"\r\n0\r\n\r\n") {
            stream.read_until(b'\n', request)?;
        }
        return Ok(());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    stream.take(length).read_to_end(request).map(drop)
}

#[cfg(feature = "tls")]
pub(super) fn tls_config() -> std::sync::Arc<rustls::ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = rustls::crypto::ring::default_provider().into();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    config.unwrap().into()
}
