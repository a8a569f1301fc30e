//! Keeps the file of a store open and locked for as long as the store exists.

use redb::backends::FileBackend;
use redb::{Error, StorageBackend};
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file that is locked until its last handle is dropped. The database itself would lock the file only after its bytes
/// were examined, and would unlock it after an error.
#[derive(Clone, Debug)]
pub(super) struct LockedFile {
    file: Arc<dyn StorageBackend>,
    #[cfg_attr(not(test), expect(dead_code, reason = "its drop unlocks the file"))]
    lock: Option<Arc<Lock>>,
}

/// A second handle of the locked file, which unlocks the file on drop. Without this explicit unlock, the copies of all
/// handles that a child process briefly holds after its start would keep the file locked.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // If the unlock fails, the lock ends when the last handle is closed.
        let _ = self.0.unlock();
    }
}

impl LockedFile {
    #[cfg(test)]
    pub(super) fn of(file: Arc<dyn StorageBackend>) -> LockedFile {
        LockedFile { file, lock: None }
    }

    pub(super) fn open(path: &Path) -> Result<LockedFile, Error> {
        let file = File::options().read(true).write(true).open(path)?;
        // The handle is cloned before the file is locked, so that a failed clone leaves the file unlocked.
        let handle = file.try_clone()?;
        match file.try_lock() {
            Ok(()) => {
                let lock = Some(Arc::new(Lock(handle)));
                Ok(LockedFile { file: Arc::new(FileBackend::new(file)?), lock })
            }
            Err(TryLockError::WouldBlock) => Err(Error::DatabaseAlreadyOpen),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

/// This backend does not implement locks, so the database does not lock the file itself.
impl StorageBackend for LockedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write(offset, bytes)
    }

    /// Does nothing: the file is closed when its last handle is dropped.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_a_new_process_has_for_a_moment_keeps_nothing_locked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = LockedFile::open(file.path()).unwrap();
        let copy = held.lock.as_ref().unwrap().0.try_clone().unwrap();
        assert!(matches!(LockedFile::open(file.path()), Err(Error::DatabaseAlreadyOpen)));
        drop(held);
        assert!(LockedFile::open(file.path()).is_ok());
        drop(copy);
    }
}
