//! Writes requests as bytes (RFC 9112, sections 3, 5 and 6). Line breaks were rejected when the parts were read.

use super::head::{ExpectedResponse, has_token, is_chunked};
use crate::http::client::request::body::LargeFile;
use crate::http::client::request::request_parts::RequestParts;
use crate::http::client::request::requests::Common;
use hyper::header::{CONNECTION, CONTENT_LENGTH, COOKIE, TRANSFER_ENCODING};
use std::fmt::Arguments;
use std::io::Write;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Lines {
    /// The bytes between the method and the path: a space and, if the request goes to a proxy, the server's URL (RFC
    /// 9112, section 3.2.2).
    before_path: Vec<u8>,
    /// The default headers, each with its name and its line. A header of the request replaces the default header of the
    /// same name.
    usual: Vec<(Vec<u8>, Vec<u8>)>,
    given: Head,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    /// The head, the three parts of the body, and the end of a chunked body.
    pub(crate) parts: [&'a [u8]; 5],
    pub(crate) file: Option<&'a Arc<LargeFile>>,
    pub(crate) asked: ExpectedResponse,
    /// Whether the request announces that no other request follows on the connection (`Connection: close`).
    pub(crate) is_last: bool,
}

/// A request as bytes without its body: the head and the end of the body. The memory is reused.
#[derive(Debug)]
pub(crate) struct Written {
    head: Vec<u8>,
    tail: &'static [u8],
    asked: ExpectedResponse,
    is_last: bool,
}

#[derive(Debug, Default)]
struct Head {
    lines: Vec<u8>,
    about: About,
}

#[derive(Clone, Debug, Default)]
struct About {
    has_length: bool,
    codings: Vec<u8>,
    is_last: bool,
}

impl Lines {
    pub(crate) fn new(common: &Common) -> Lines {
        let mut given = Head::default();
        for (name, value) in &common.given {
            given.about.add(&mut given.lines, name.as_str().as_bytes(), value.as_bytes());
        }
        let usual = common.usual.iter().filter(|(name, _)| !common.given.contains_key(*name));
        let usual = usual.map(|(name, value)| {
            let (name, mut line) = (name.as_str().as_bytes(), Vec::new());
            given.about.add(&mut line, name, value.as_bytes());
            (name.to_owned(), line)
        });
        let usual = usual.collect();
        let mut before_path = b" ".to_vec();
        if let Some(authority) = common.url.authority().filter(|_| common.is_to_proxy) {
            push(&mut before_path, format_args!("http://{authority}"));
        }
        Lines { before_path, usual, given }
    }

    pub(crate) fn write(&self, parts: &RequestParts<'_>, to: &mut Written) {
        let head = &mut to.head;
        head.clear();
        for part in [parts.method, &self.before_path, parts.path, b" HTTP/1.1\r\n"] {
            head.extend_from_slice(part);
        }
        for (name, line) in &self.usual {
            if parts.headers().all(|(own, _)| own != name) {
                head.extend_from_slice(line);
            }
        }
        head.extend_from_slice(&self.given.lines);
        let mut about = self.given.about.clone();
        for (name, value) in parts.headers() {
            about.add(head, name, value);
        }
        if !parts.cookie.is_empty() {
            push_line(head, COOKIE.as_str().as_bytes(), parts.cookie);
        }
        to.tail = about.end(head, parts);
        to.asked = match parts.method {
            b"HEAD" => ExpectedResponse::Head,
            b"CONNECT" => ExpectedResponse::Connect,
            _ => ExpectedResponse::Whole,
        };
        to.is_last = about.is_last;
    }
}

impl Written {
    pub(crate) fn new() -> Written {
        Written { head: Vec::new(), tail: b"", asked: ExpectedResponse::Whole, is_last: false }
    }

    pub(crate) fn with<'a>(
        &'a self,
        body: [&'a [u8]; 3],
        file: Option<&'a Arc<LargeFile>>,
    ) -> Outgoing<'a> {
        let (Written { head, tail, asked, is_last }, [before, large, after]) = (self, body);
        let parts = [head, before, large, after, tail];
        Outgoing { parts, file, asked: *asked, is_last: *is_last }
    }
}

impl About {
    /// Adds a header. A header that depends on the body is only recorded, and [`About::end`] adds it.
    fn add(&mut self, lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        if name == CONTENT_LENGTH.as_str().as_bytes() {
            self.has_length = true;
        } else if name == TRANSFER_ENCODING.as_str().as_bytes() {
            self.codings.extend_from_slice(if self.codings.is_empty() { b"" } else { b", " });
            self.codings.extend_from_slice(value);
        } else {
            self.is_last |= name == CONNECTION.as_str().as_bytes() && has_token(value, "close");
            push_line(lines, name, value);
        }
    }

    /// Adds the header that delimits the body (RFC 9112, section 6.3). Returns the bytes to send after the body.
    fn end(&self, head: &mut Vec<u8>, parts: &RequestParts<'_>) -> &'static [u8] {
        let length = parts.body_length();
        // Some servers require a length for these methods even without a body.
        let is_usual = [&b"POST"[..], b"PUT", b"PATCH"].contains(&parts.method);
        if length > 0 && !self.codings.is_empty() {
            push_line(head, TRANSFER_ENCODING.as_str().as_bytes(), &chunked(&self.codings));
            push(head, format_args!("\r\n{length:X}\r\n"));
            return b"\r\n0\r\n\r\n";
        }
        if length > 0 || self.has_length || is_usual {
            push(head, format_args!("{CONTENT_LENGTH}: {length}\r\n"));
        }
        head.extend_from_slice(b"\r\n");
        b""
    }
}

fn chunked(codings: &[u8]) -> Vec<u8> {
    let last: &[u8] = if is_chunked(codings) { b"" } else { b", chunked" };
    [codings, last].concat()
}

fn push_line(lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        lines.extend_from_slice(part);
    }
}

fn push(head: &mut Vec<u8>, text: Arguments<'_>) {
    head.write_fmt(text).expect("writing to a `Vec` cannot fail");
}
