//! Finds the end of a response's body (RFC 9112, sections 6 and 7).

use super::head::Length;
use crate::http::client::failure::Failure;
use httparse::{EMPTY_HEADER, Status};

/// The maximum length in bytes of a line with a chunk size, and of all trailers together.
const LONGEST: usize = 16 * 1024;
const MOST: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// The number of bytes left. `Bytes(0)` is also the end of a chunked body.
    Bytes(u64),
    Size,
    Chunk(u64),
    Line,
    Trailers,
    UntilEnd,
}

impl Body {
    pub(crate) fn new(length: Length) -> Body {
        match length {
            Length::Bytes(bytes) => Body::Bytes(bytes),
            Length::Chunked => Body::Size,
            Length::UntilEnd => Body::UntilEnd,
        }
    }

    pub(crate) fn is_complete(self) -> bool {
        self == Body::Bytes(0)
    }

    pub(crate) fn is_content(self) -> bool {
        matches!(self, Body::Bytes(_) | Body::Chunk(_) | Body::UntilEnd)
    }

    /// Returns the number of consumed bytes, or 0 if more bytes are needed. `bytes` must not be empty.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let (taken, next) = match *self {
            Body::Bytes(left) => counted(left, bytes, Body::Bytes),
            Body::Chunk(left) => counted(left, bytes, chunk),
            Body::UntilEnd => (bytes.len(), Body::UntilEnd),
            Body::Size => size_line(bytes)?.map_or((0, Body::Size), |(taken, size)| {
                (taken, if size == 0 { Body::Trailers } else { Body::Chunk(size) })
            }),
            Body::Line if bytes.starts_with(b"\r\n") => (2, Body::Size),
            Body::Line if bytes == b"\r" => (0, Body::Line),
            Body::Line => return Err(WRONG),
            Body::Trailers => {
                trailers(bytes)?.map_or((0, Body::Trailers), |taken| (taken, Body::Bytes(0)))
            }
        };
        *self = next;
        Ok(taken)
    }
}

const WRONG: Failure = Failure::Chunk;
const LONG: Failure = Failure::TooLarge;

fn chunk(left: u64) -> Body {
    if left == 0 { Body::Line } else { Body::Chunk(left) }
}

fn counted(left: u64, bytes: &[u8], rest: fn(u64) -> Body) -> (usize, Body) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, rest(left - taken as u64))
}

fn size_line(bytes: &[u8]) -> Result<Option<(usize, u64)>, Failure> {
    let end = bytes.iter().position(|byte| *byte == b'\r');
    let line = &bytes[..end.unwrap_or(bytes.len())];
    // An invalid byte is reported as soon as it arrives.
    let size = size(line)?;
    match end.and_then(|end| bytes.get(end + 1)) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((line.len() + 2, size))),
        Some(_) => Err(WRONG),
    }
}

/// Parses the size of a chunk. If a line has several errors, the first one is reported, even if the line arrives in
/// parts.
fn size(line: &[u8]) -> Result<u64, Failure> {
    let line = &line[..line.len().min(LONGEST)];
    let is_digit = |byte: &&u8| byte.is_ascii_hexdigit();
    let (digits, rest) = line.split_at(line.iter().take_while(is_digit).count());
    if digits.is_empty() {
        return Err(WRONG);
    }
    let digits = str::from_utf8(digits).map_err(|_| WRONG)?;
    let size = u64::from_str_radix(digits, 16).map_err(|_| LONG)?;
    let extension = rest.iter().find(|byte| !b" \t".contains(byte));
    if extension.is_some_and(|byte| *byte != b';') {
        return Err(WRONG);
    }
    // Some parsers accept a line feed without a carriage return as the end of the line, so a line that contains one is
    // rejected.
    let is_long = line.len() == LONGEST || rest.contains(&b'\n');
    if is_long { Err(LONG) } else { Ok(size) }
}

fn trailers(bytes: &[u8]) -> Result<Option<usize>, Failure> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match httparse::parse_headers(bytes, &mut [EMPTY_HEADER; MOST]) {
        Ok(Status::Complete((taken, _))) => lines_end(&bytes[..taken]).map(|()| Some(taken)),
        Ok(Status::Partial) if bytes.len() < LONGEST => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(LONG),
        Err(_) => Err(WRONG),
    }
}

/// Returns an error unless each line ends with CR LF. Parsers disagree about a line feed alone: some accept it as the
/// end of a line, and others do not.
fn lines_end(lines: &[u8]) -> Result<(), Failure> {
    let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
    if lines.all(|line| line.ends_with(b"\r\n")) { Ok(()) } else { Err(WRONG) }
}
