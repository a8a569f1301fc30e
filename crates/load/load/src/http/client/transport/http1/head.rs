//! Parses the head of a response (RFC 9112): the status, the length of the body, and whether the connection stays open.

use crate::http::client::failure::Failure;
use httparse::{EMPTY_HEADER, Header, ParserConfig, Response, Status};
use hyper::StatusCode;
use std::cell::RefCell;
use std::mem::MaybeUninit;

/// The maximum number of headers that are parsed without an allocation.
const FEW: usize = 64;

/// The kind of response that a request gets. It determines how the end of the response is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedResponse {
    Head,
    /// If the response is a success, the connection becomes a tunnel, and its bytes are not HTTP.
    Connect,
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) size: usize,
    pub(crate) status: StatusCode,
    pub(crate) length: Length,
    pub(crate) is_kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Bytes(u64),
    Chunked,
    UntilEnd,
}

thread_local! {
    /// The last head that was parsed on this thread. If a server sends the same head again, as servers often do, on any
    /// connection, the head is not parsed again.
    static LAST: RefCell<LastHead> = RefCell::default();
}

#[derive(Debug, Default)]
struct LastHead {
    bytes: Vec<u8>,
    read: Option<(ExpectedResponse, Head)>,
}

/// Does the same as [`Head::read`], without parsing if the bytes begin with the last head of this thread.
pub(super) fn read_or_reuse(
    bytes: &[u8],
    asked: ExpectedResponse,
) -> Result<Option<Head>, Failure> {
    LAST.with_borrow_mut(|last| last.read(bytes, asked))
}

impl LastHead {
    fn read(&mut self, bytes: &[u8], asked: ExpectedResponse) -> Result<Option<Head>, Failure> {
        if let Some((expected, head)) = self.read
            && expected == asked
            && bytes.starts_with(&self.bytes)
        {
            return Ok(Some(head));
        }
        let read = Head::read(bytes, asked)?;
        if let Some(head) = read {
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[..head.size]);
            self.read = Some((asked, head));
        }
        Ok(read)
    }
}

impl Head {
    /// Returns whether another response to the same request follows.
    pub(crate) fn is_interim(&self) -> bool {
        self.status.is_informational() && self.status != StatusCode::SWITCHING_PROTOCOLS
    }

    pub(crate) fn read(bytes: &[u8], asked: ExpectedResponse) -> Result<Option<Head>, Failure> {
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        let mut response = Response::new(&mut []);
        let config = ParserConfig::default();
        match config.parse_response_with_uninit_headers(&mut response, bytes, &mut few) {
            Err(httparse::Error::TooManyHeaders) => Head::read_many(bytes, asked),
            read => Head::of(read, &response, asked),
        }
    }

    fn read_many(bytes: &[u8], asked: ExpectedResponse) -> Result<Option<Head>, Failure> {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        let mut headers = vec![EMPTY_HEADER; lines];
        let mut response = Response::new(&mut headers);
        let read = response.parse(bytes);
        Head::of(read, &response, asked)
    }

    fn of(
        read: httparse::Result<usize>,
        response: &Response<'_, '_>,
        asked: ExpectedResponse,
    ) -> Result<Option<Head>, Failure> {
        let Status::Complete(size) = read.map_err(|_| Failure::Protocol)? else { return Ok(None) };
        let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or(Failure::Protocol)?;
        let fields = Fields { headers: response.headers, is_old: response.version == Some(0) };
        let is_tunnel = asked == ExpectedResponse::Connect && status.is_success();
        let is_other = is_tunnel || status == StatusCode::SWITCHING_PROTOCOLS;
        let has_body = !(is_tunnel
            || asked == ExpectedResponse::Head
            || status.is_informational()
            || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status));
        let length = if has_body { fields.length()? } else { Length::Bytes(0) };
        let is_kept = !is_other && length != Length::UntilEnd && fields.are_kept();
        Ok(Some(Head { size, status, length, is_kept }))
    }
}

struct Fields<'a> {
    headers: &'a [Header<'a>],
    is_old: bool,
}

impl Fields<'_> {
    fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
        let named = move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
        self.headers.iter().filter(named).map(|header| header.value)
    }

    fn length(&self) -> Result<Length, Failure> {
        match self.values("transfer-encoding").next_back() {
            Some(_) if self.is_old => Err(Failure::Protocol),
            // The last transfer coding determines how the body ends.
            Some(codings) if is_chunked(codings) => Ok(Length::Chunked),
            Some(_) => Ok(Length::UntilEnd),
            None => self.content_length(),
        }
    }

    /// Returns the length that the header Content-Length specifies. The header may be repeated if all values are equal.
    fn content_length(&self) -> Result<Length, Failure> {
        let mut lengths = self.values("content-length").flat_map(tokens).map(number);
        match lengths.next() {
            None => Ok(Length::UntilEnd),
            Some(Some(length)) if lengths.all(|other| other == Some(length)) => {
                Ok(Length::Bytes(length))
            }
            Some(_) => Err(Failure::Protocol),
        }
    }

    fn are_kept(&self) -> bool {
        let says = |word: &str| self.values("connection").any(|value| has_token(value, word));
        !says("close") && (!self.is_old || says("keep-alive"))
    }
}

fn tokens(list: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

pub(crate) fn has_token(list: &[u8], token: &str) -> bool {
    tokens(list).any(|other| other.eq_ignore_ascii_case(token.as_bytes()))
}

pub(crate) fn is_chunked(codings: &[u8]) -> bool {
    tokens(codings).next_back().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"))
}

/// Returns `None` unless all bytes are digits. `parse` alone would accept a plus sign.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit).then_some(text)?;
    str::from_utf8(digits).ok()?.parse().ok()
}
