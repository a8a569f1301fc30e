//! Runs servers in this process that report their requests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) connection: usize,
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn read(stream: &mut impl BufRead, connection: usize) -> Option<Asked> {
        let first = line(stream)?;
        let mut headers = Vec::new();
        while let Some((name, value)) = line(stream)?.split_once(": ") {
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut asked = Asked { connection, first, headers, body: Vec::new() };
        let length = asked.header("content-length").parse().unwrap_or(0);
        stream.take(length).read_to_end(&mut asked.body).ok()?;
        Some(asked)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(its, _)| its == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn path(&self) -> &str {
        self.first.split(' ').nth(1).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    line.strip_suffix("\r\n").map(str::to_owned)
}

pub(crate) fn server() -> (String, Receiver<Asked>) {
    answering(|_| "HTTP/1.1 204 No Content\r\n\r\n".to_owned())
}

/// Starts a server that sends the response that `answer` returns. A request whose response is empty is left waiting.
pub(crate) fn answering(
    answer: impl Fn(&Asked) -> String + Send + Sync + 'static,
) -> (String, Receiver<Asked>) {
    let (sender, asked) = mpsc::channel();
    let address = serving(move |mut stream, connection| {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = Asked::read(&mut reader, connection) {
            let answer = answer(&request);
            let _ = sender.send(request);
            stream.write_all(answer.as_bytes())?;
        }
        Ok(())
    });
    (address, asked)
}

pub(crate) fn serving(
    serve: impl Fn(TcpStream, usize) -> io::Result<()> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream, number));
        }
    });
    address
}
