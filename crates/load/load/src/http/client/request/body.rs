//! Defines the body of a request, which is either in memory or in a large file that is read while it is sent.

use crate::console::input::{self, is_stdin};
use crate::http::template::has_open;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::mem;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use thiserror::Error;

/// The minimum size in bytes of a file without placeholders that is read while it is sent.
const LARGE: u64 = 64 << 20;

const CHUNK: u64 = 1 << 16;

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Memory(Bytes),
    File(Arc<LargeFile>),
}

#[derive(Debug)]
pub(crate) struct LargeFile {
    file: File,
    /// The length of the file when it was opened. Exactly this number of bytes is sent.
    bytes: u64,
}

#[derive(Debug, Error)]
#[error("the file of the body has become shorter, or can't be read any more")]
pub(crate) struct Unreadable;

impl Unreadable {
    pub(crate) fn is_why(error: &io::Error) -> bool {
        error.get_ref().and_then(|source| source.downcast_ref::<Unreadable>()).is_some()
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Content {
        Content::Memory(bytes)
    }
}

impl Content {
    pub(crate) fn of_file(path: &Path) -> io::Result<Content> {
        if is_stdin(path) {
            return Ok(Bytes::from(input::read(path)?).into());
        }
        Content::of_file_from(path, LARGE)
    }

    fn of_file_from(path: &Path, large: u64) -> io::Result<Content> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        let mut file = LargeFile { file, bytes: about.len() };
        if !about.is_file() || file.bytes < large || has_places(&file)? {
            let mut bytes = Vec::new();
            if about.is_file() {
                // On Windows, the search for placeholders has moved the read position of the file, so it is moved back.
                file.file.rewind()?;
            }
            file.file.read_to_end(&mut bytes)?;
            return Ok(Bytes::from(bytes).into());
        }
        Ok(Content::File(Arc::new(file)))
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::File(file) => file.bytes,
        }
    }

    pub(crate) fn memory(&self) -> &[u8] {
        match self {
            Content::Memory(bytes) => bytes,
            Content::File(_) => b"",
        }
    }

    pub(crate) fn file(&self) -> Option<&Arc<LargeFile>> {
        match self {
            Content::Memory(_) => None,
            Content::File(file) => Some(file),
        }
    }

    /// Returns a number that is the same for all clones of this content. While a clone exists, no other content has
    /// this number, except that all empty contents may have the same one.
    pub(crate) fn address(&self) -> usize {
        match self {
            Content::Memory(bytes) => bytes.as_ptr().addr(),
            Content::File(file) => Arc::as_ptr(file).addr(),
        }
    }
}

/// Returns whether the file contains the start of a placeholder. A file that is not UTF-8 contains none.
fn has_places(file: &LargeFile) -> io::Result<bool> {
    let (mut at, mut has_found) = (0, false);
    while at < file.bytes {
        let chunk = file.read(at)?;
        let is_last = at + chunk.len() as u64 == file.bytes;
        has_found |= has_open(&chunk);
        match std::str::from_utf8(&chunk) {
            Ok(_) if is_last => break,
            // The second brace of an opening pair may be in the next chunk.
            Ok(_) => at += (chunk.len() - usize::from(chunk.ends_with(b"{"))) as u64,
            Err(error) if error.error_len().is_none() && !is_last => {
                at += error.valid_up_to() as u64;
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(has_found)
}

impl LargeFile {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes that begin at offset `at`: at least one byte, unless the file ends there.
    fn read(&self, at: u64) -> io::Result<Bytes> {
        let bytes = CHUNK.min(self.bytes.saturating_sub(at));
        let mut chunk = vec![0; usize::try_from(bytes).unwrap_or_default()];
        self.read_exact_at(&mut chunk, at).map_err(|_| io::Error::other(Unreadable))?;
        Ok(chunk.into())
    }

    #[cfg(unix)]
    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.file, bytes, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (bytes, at) = (&mut bytes[read..], at + read as u64);
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    ready: Bytes,
    rest: Option<(Arc<LargeFile>, u64)>,
}

impl Flow {
    pub(crate) fn of(content: &Content) -> Flow {
        match content {
            Content::Memory(bytes) => Flow { ready: bytes.clone(), rest: None },
            Content::File(file) => Flow::of_large(file),
        }
    }

    pub(crate) fn of_large(file: &Arc<LargeFile>) -> Flow {
        Flow { ready: Bytes::new(), rest: Some((Arc::clone(file), 0)) }
    }

    pub(crate) fn left(&self) -> u64 {
        let rest = self.rest.as_ref().map_or(0, |(file, at)| file.bytes - at);
        self.ready.len() as u64 + rest
    }

    /// Returns the next bytes to send. They are empty only if all bytes have been sent.
    pub(crate) fn next(&mut self) -> io::Result<&mut Bytes> {
        if let Some((file, at)) = self.rest.as_mut().filter(|_| self.ready.is_empty()) {
            self.ready = file.read(*at)?;
            *at += self.ready.len() as u64;
        }
        Ok(&mut self.ready)
    }
}

impl Body for Flow {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = self.next().map(mem::take);
        Poll::Ready(next.map(|next| (!next.is_empty()).then(|| Frame::data(next))).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use hyper::body::Buf;
    use std::fs;
    use tempfile::NamedTempFile;
    use tokio::runtime::Builder;

    fn file(content: &[u8]) -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        file
    }

    /// In these files, the end of a chunk splits the placeholder at each possible position.
    #[test]
    fn a_large_file_with_placeholders_is_kept_in_memory() {
        let chunk = usize::try_from(CHUNK).unwrap();
        for before in chunk - 4..=chunk + 2 {
            for (letter, place, is_in_memory) in [
                ("x", "{{slot}}", true),
                ("\u{e9}", "{{slot}}", true),
                ("x", "{ {slot}}", false),
                ("x{", "slot}}", false),
            ] {
                let text =
                    [letter.repeat(before / letter.len()).as_bytes(), place.as_bytes()].concat();
                for (end, is_text) in [(&b""[..], true), (b"\xff", false), (b"\xc3", false)] {
                    let file = file(&[&text, end].concat());
                    let content = Content::of_file_from(file.path(), 1).unwrap();
                    assert_eq!(
                        content.file().is_none(),
                        is_in_memory && is_text,
                        "{before} {place}"
                    );
                    assert_eq!(content.len(), (text.len() + end.len()) as u64);
                }
            }
        }
    }

    #[test]
    fn a_flow_yields_the_file_and_fails_where_the_file_was_cut() {
        let bytes: Vec<u8> = (0..CHUNK * 5 / 2).map(|at| (at % 251) as u8).collect();
        let file = file(&bytes);
        let content = Content::of_file_from(file.path(), 1).unwrap();
        let (mut flow, mut sent) = (Flow::of(&content), Vec::new());
        while flow.left() > 0 {
            assert_eq!(sent.len() as u64 + flow.left(), content.len());
            let next = flow.next().unwrap();
            let taken = next.len().min(40_000);
            sent.extend_from_slice(&next[..taken]);
            next.advance(taken);
        }
        assert_eq!(sent, bytes);
        let runtime = Builder::new_current_thread().build().unwrap();
        let whole = runtime.block_on(Flow::of(&content).collect()).unwrap();
        assert_eq!(whole.to_bytes(), bytes);
        assert!(flow.next().unwrap().is_empty());

        let mut flow = Flow::of(&content);
        file.as_file().set_len(CHUNK + 1).unwrap();
        assert_eq!(mem::take(flow.next().unwrap()).len() as u64, CHUNK);
        let error = flow.next().unwrap_err();
        assert!(Unreadable::is_why(&error));
    }
}
