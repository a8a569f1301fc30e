//! Defines the parts of a request: method, path, headers and body. No part of the head can contain a line break.

use super::body::{Content, LargeFile};
use std::iter;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    /// Two lines for each header: its name and its value.
    pub(crate) headers: &'a [u8],
    /// The bytes before a large piece, the large piece, which all requests share, and the bytes after it.
    pub(crate) body: [&'a [u8]; 3],
    /// The file that is sent as the body, instead of `body`.
    pub(crate) file: Option<&'a Arc<LargeFile>>,
    /// The value of the `Cookie` header; empty if there are no cookies.
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

    /// Returns the name, in lower case, and the value of each header that the request sets itself.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut lines = self.headers.split(|byte| *byte == b'\n');
        iter::from_fn(move || lines.next().zip(lines.next()))
    }
}
