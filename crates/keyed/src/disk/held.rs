//! The file of a store, which stays open and locked as long as the store does.

use redb::backends::FileBackend;
use redb::{Error, StorageBackend};
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file that is locked from before its first byte is read until its last handle is gone, whether
/// a database is open on it or not. The database by itself would lock it only after its bytes were
/// examined, and would let it go with an error.
#[derive(Clone, Debug)]
pub(super) struct Held(pub(super) Arc<dyn StorageBackend>);

impl Held {
    /// Locks the whole file, as redb 2.6 does and its later versions look for.
    pub(super) fn open(path: &Path) -> Result<Held, Error> {
        let file = File::options().read(true).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Held(Arc::new(FileBackend::new(file)?))),
            Err(TryLockError::WouldBlock) => Err(Error::DatabaseAlreadyOpen),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

/// Says nothing of locks, so the database takes none of its own.
impl StorageBackend for Held {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(offset, bytes)
    }

    /// The file is closed when its last handle is dropped.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }
}
