//! Buffers the bytes that were read from a connection, in memory that is reused.

use std::fmt;

/// The initial size of the buffer in bytes. It is enough for most responses.
const FIRST: usize = 8 * 1024;
/// The size in bytes beyond which the buffer grows only if more bytes must stay in one piece.
const ENOUGH: usize = 64 * 1024;

pub(super) struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer { bytes: vec![0; FIRST], begin: 0, end: 0 }
    }
}

impl Buffer {
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.begin += bytes;
        if self.begin == self.end {
            let was_full = self.end == self.bytes.len();
            (self.begin, self.end) = (0, 0);
            // The last read has filled the buffer, so the response is long, and larger reads are more efficient.
            if was_full && self.bytes.len() < ENOUGH {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
    }

    /// Returns the memory for the next read, which is never empty. Enlarges the buffer if necessary.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.end == self.bytes.len() {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            if self.end > self.bytes.len() / 2 {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    pub(super) fn fill(&mut self, bytes: usize) {
        self.end += bytes;
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.end - self.begin, self.bytes.len())
    }
}
