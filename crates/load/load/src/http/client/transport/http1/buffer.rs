//! Reads from connections into the memory of the thread, and stores the bytes that the parser has not consumed yet.

use std::cell::RefCell;

/// The maximum size of a read in bytes.
const ROOM: usize = 64 * 1024;

thread_local! {
    /// The memory that all connections of the thread read into. It stays in the core's caches. Memory of a single
    /// connection would not, because the thread reads from many other connections before it reads from this one again.
    static MEMORY: RefCell<Vec<u8>> = RefCell::new(vec![0; ROOM]);
}

/// The unconsumed bytes of a connection. There are none between two responses.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

/// Calls `read` with the memory of the thread, which is not empty.
pub(super) fn with_memory<R>(read: impl FnOnce(&mut [u8]) -> R) -> R {
    MEMORY.with_borrow_mut(|memory| read(memory))
}

impl Buffer {
    pub(super) fn unread(&self) -> &[u8] {
        &self.0
    }

    /// Appends `new` and calls `parse` with all unconsumed bytes. `parse` returns the number of bytes that it has
    /// consumed, which are removed.
    pub(super) fn parse<E>(
        &mut self,
        new: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        if self.0.is_empty() {
            let taken = parse(new)?;
            self.0.extend_from_slice(&new[taken..]);
        } else {
            self.0.extend_from_slice(new);
            let taken = parse(&self.0)?;
            self.0.drain(..taken);
        }
        Ok(())
    }
}
