//! A server that tells what it was asked for, and answers 204 or what it is to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A request.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Without the end of the line.
    pub(crate) first: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// Its address, and the requests that it got.
pub(crate) fn server() -> (String, Receiver<Asked>) {
    answering(|_| NO_CONTENT.to_owned())
}

/// The same of one with these answers. Who gets an empty one waits.
pub(crate) fn answering(answer: fn(&Asked) -> String) -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, asked) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = request(&mut reader) {
                    let answer = answer(&request);
                    let _ = sender.send(request);
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (address, asked)
}

fn request(stream: &mut impl BufRead) -> Option<Asked> {
    let first = line(stream)?;
    let mut headers = Vec::new();
    while let Some((name, value)) = line(stream)?.split_once(": ") {
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = String::new();
    stream.take(length).read_to_string(&mut body).ok()?;
    Some(Asked { first, headers, body })
}

/// A line that ends as it has to.
fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    line.strip_suffix("\r\n").map(str::to_owned)
}
