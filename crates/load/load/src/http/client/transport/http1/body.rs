//! The body of an answer, whose end is all that is looked for (RFC 9112, sections 6 and 7).

use super::head::Length;
use crate::http::client::failure::Failure;
use httparse::{EMPTY_HEADER, Status};

/// The longest line with the size of a chunk, and the longest trailers, in bytes.
const LONGEST: usize = 16 * 1024;
/// The most trailers.
const MOST: usize = 100;

/// Which part of a body comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many bytes, and no more.
    Bytes(u64),
    /// The line with the size of a chunk.
    Size,
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The end of the line after a chunk.
    Line,
    /// What follows the last chunk.
    Trailers,
    /// Whatever comes until the connection ends.
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

    /// Whether nothing follows.
    pub(crate) fn is_complete(self) -> bool {
        self == Body::Bytes(0)
    }

    /// Whether what comes next is content, and not its frame.
    pub(crate) fn is_content(self) -> bool {
        matches!(self, Body::Bytes(_) | Body::Chunk(_) | Body::UntilEnd)
    }

    /// Takes the next part, or what is there of it, off the front of `bytes`, of which there are some.
    /// Returns how many it takes: none if more are needed.
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

/// Takes at most `left` bytes.
fn counted(left: u64, bytes: &[u8], rest: fn(u64) -> Body) -> (usize, Body) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, rest(left - taken as u64))
}

/// The line with the size of a chunk: how long it is, and the size. None if it goes on.
fn size_line(bytes: &[u8]) -> Result<Option<(usize, u64)>, Failure> {
    let end = bytes.iter().position(|byte| *byte == b'\r');
    let line = &bytes[..end.unwrap_or(bytes.len())];
    // What is wrong is told as soon as it is there.
    let size = size(line)?;
    match end.and_then(|end| bytes.get(end + 1)) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((line.len() + 2, size))),
        Some(_) => Err(WRONG),
    }
}

/// A size, perhaps with extensions, which nobody needs. Where more than one thing is wrong, the first one
/// is told, in however many parts a line is read.
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
    // Some take a line feed for the end of the line.
    let is_long = line.len() == LONGEST || rest.contains(&b'\n');
    if is_long { Err(LONG) } else { Ok(size) }
}

/// Trailers and the blank line after them: how long they are. None if they go on.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, Failure> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match httparse::parse_headers(bytes, &mut [EMPTY_HEADER; MOST]) {
        Ok(Status::Complete((taken, _))) => lines_end(&bytes[..taken]).map(|()| Some(taken)),
        Ok(Status::Partial) if bytes.len() < LONGEST => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(LONG),
        Err(_) => Err(WRONG),
    }
}

/// Whether lines end as they must: some take a line feed alone for an end, and others do not.
fn lines_end(lines: &[u8]) -> Result<(), Failure> {
    let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
    if lines.all(|line| line.ends_with(b"\r\n")) { Ok(()) } else { Err(WRONG) }
}
