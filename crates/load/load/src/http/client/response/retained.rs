//! Retains the headers and the body of a response until values have been extracted from them.

use httparse::{EMPTY_HEADER, Response};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const LONGEST_BODY: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) headers: bool,
    pub(crate) body: bool,
}

/// The parts of a response that are retained. The memory is reused for the next response.
#[derive(Debug, Default)]
pub(crate) struct RetainedResponse {
    wanted: Wanted,
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
    is_too_long: bool,
}

impl RetainedResponse {
    pub(crate) fn begin(&mut self, wanted: Wanted) {
        self.wanted = wanted;
        self.clear();
    }

    fn clear(&mut self) {
        self.headers.clear();
        self.body.clear();
        self.is_too_long = false;
    }

    /// Begins a new response with its head. Drops the parts of the earlier response, for example of the response to the
    /// first attempt of a retried request.
    pub(crate) fn head(&mut self, head: &[u8]) {
        self.clear();
        if !self.wanted.headers {
            return;
        }
        let mut fields = vec![EMPTY_HEADER; head.split(|byte| *byte == b'\n').count()];
        let mut response = Response::new(&mut fields);
        if response.parse(head).is_err() {
            return;
        }
        for field in response.headers {
            let name = HeaderName::from_bytes(field.name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(field.value)) {
                // A `HeaderMap` has room for about 24 000 names. A head may contain more, and they are dropped.
                let _ = self.headers.try_append(name, value);
            }
        }
    }

    pub(crate) fn headers(&mut self, headers: &HeaderMap) {
        self.clear();
        if self.wanted.headers {
            self.headers.clone_from(headers);
        }
    }

    pub(crate) fn observe_body(&mut self, part: &[u8]) {
        if !self.wanted.body {
            return;
        }
        self.is_too_long |= self.body.len() + part.len() > LONGEST_BODY;
        if !self.is_too_long {
            self.body.extend_from_slice(part);
        }
    }

    pub(crate) fn body(&self) -> Option<&[u8]> {
        (!self.is_too_long).then_some(&self.body[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_parts_of_the_last_response_are_retained() {
        let mut retained = RetainedResponse::default();
        let head = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: \xe9\r\n\r\n";
        for (headers, body) in [(true, false), (false, true), (true, true)] {
            retained.begin(Wanted { headers, body });
            retained.head(head);
            retained.observe_body(b"a");
            retained.observe_body(b"b");
            let values: Vec<_> = retained.headers.get_all("x-a").iter().collect();
            assert_eq!(values.len(), if headers { 2 } else { 0 });
            assert_eq!(retained.body(), Some(if body { &b"ab"[..] } else { b"" }));
        }
        retained.head(head);
        assert_eq!((retained.body(), retained.headers.len()), (Some(&b""[..]), 2));
        let names = (0..40_000).map(|name| format!("{name:x}:\r\n")).collect::<Vec<_>>().concat();
        retained.head(format!("HTTP/1.1 200 OK\r\n{names}\r\n").as_bytes());
        assert!(retained.headers.contains_key("0") && retained.headers.len() < 40_000);
        retained.observe_body(&vec![b'x'; LONGEST_BODY]);
        assert!(retained.body().is_some());
        retained.observe_body(b"x");
        assert_eq!(retained.body(), None);
    }
}
