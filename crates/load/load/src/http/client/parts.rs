//! A request in its parts, none of which can hold the end of a line.

use super::content::{Content, LargeFile};
use std::iter;
use std::sync::Arc;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    /// Two lines for each: name and value.
    pub(super) headers: &'a [u8],
    /// What is written before a large piece that all requests share, that piece, and what is behind it.
    pub(crate) body: [&'a [u8]; 3],
    /// A file that is the body, in place of that.
    pub(crate) file: Option<&'a Arc<LargeFile>>,
    /// The value of the header Cookie; empty without cookies.
    pub(crate) cookie: &'a [u8],
}

impl<'a> Parts<'a> {
    /// How many bytes its body has.
    pub(crate) fn body_length(&self) -> u64 {
        let file = self.file.map_or(0, |file| file.bytes());
        file + self.body.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    /// The same request with this body.
    pub(crate) fn with(self, body: &'a Content) -> Parts<'a> {
        Parts { body: [body.memory(), b"", b""], file: body.file(), ..self }
    }

    /// Names, in small letters, and values of its own headers.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut lines = self.headers.split(|byte| *byte == b'\n');
        // What is after the last line is no line.
        iter::from_fn(move || lines.next().zip(lines.next()))
    }
}
