//! Defines the parts of a request. No method, path, header name or header value contains a line break.

use super::body::{Content, LargeFile};
use std::iter;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    /// The headers. Each consists of two lines: its name and its value.
    pub(crate) headers: &'a [u8],
    /// The bytes before the largest piece without placeholders, this piece (shared by all requests), and the bytes
    /// after it. A body without placeholders is the first part.
    pub(crate) body: [&'a [u8]; 3],
    /// The file that is sent as the body. `None` if `body` is sent.
    pub(crate) file: Option<&'a Arc<LargeFile>>,
    /// The value of the `Cookie` header. Empty if there are no cookies to send.
    pub(crate) cookie: &'a [u8],
}

impl<'a> RequestParts<'a> {
    pub(crate) fn body_length(&self) -> u64 {
        let file = self.file.map_or(0, |file| file.bytes());
        file + self.body.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    pub(crate) fn with(self, body: &'a Content) -> RequestParts<'a> {
        RequestParts { body: [body.memory(), b"", b""], file: body.file(), ..self }
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut lines = self.headers.split(|byte| *byte == b'\n');
        iter::from_fn(move || lines.next().zip(lines.next()))
    }
}
