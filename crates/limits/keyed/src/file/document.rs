//! Reads, replaces and locks the document in a file.

use crate::atomic_file::{aside, sync_folder};
use crate::{ConfigError, ConfigSnapshot};
use same_file::Handle;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

impl ConfigSnapshot {
    /// Reads a TOML document in the format that [`FileConfig`](crate::FileConfig) shows.
    ///
    /// # Errors
    /// Returns [`ConfigError::Io`] if the file cannot be read, and [`ConfigError::Document`] if the document is
    /// invalid. The error message describes the fault and its position.
    pub fn load(path: impl AsRef<Path>) -> Result<ConfigSnapshot, ConfigError> {
        let path = path.as_ref();
        let bytes = read(path).map_err(with_path(path))?;
        toml::from_slice(&bytes).map_err(|error| ConfigError::Document {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Writes a TOML document, replacing the file at `path`. Readers find the old document or the new one, never an
    /// incomplete one. When this function returns, the new document is on disk. The new document keeps the permissions
    /// of the old one, but not its owner. If `path` is a link to a file, the link stays and the file is replaced. A
    /// process that is killed during the call may leave a file `.tmp...` in the folder of the document.
    ///
    /// # Errors
    /// Returns [`ConfigError::Io`] if the document cannot be written. In that case, the old document stays, unless only
    /// the last step failed, which flushes the folder to disk. After that failure, the new document has replaced the
    /// old one, but may be lost in a power cut.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ConfigError> {
        let path = path.as_ref();
        let text = toml::to_string(self).map_err(io::Error::other).map_err(with_path(path))?;
        replace(path, &text).map_err(with_path(path))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    check_kind(path)?;
    fs::read(path)
}

/// Returns an error unless the file is a regular one. Opening a pipe would block its reader.
fn check_kind(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut new = aside(&path)?;
    new.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions(&path) {
        new.as_file().set_permissions(permissions)?;
    }
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|error| error.error)?;
    sync_folder(&path)
}

/// Returns the permissions of the new file. If there is no old file, the result on Unix allows all users to read the
/// new file, so that their processes can follow it.
fn permissions(path: &Path) -> Option<Permissions> {
    let old = fs::metadata(path).ok().map(|file| file.permissions());
    #[cfg(unix)]
    let old = old.or_else(|| Some(std::os::unix::fs::PermissionsExt::from_mode(0o644)));
    old
}

/// Locks the document until the returned file is closed. Tries again if a writer has replaced the document before the
/// lock was acquired.
pub(super) fn lock_document(path: &Path) -> io::Result<File> {
    loop {
        check_kind(path)?;
        let file = File::open(path)?;
        file.lock()?;
        if Handle::from_file(file.try_clone()?)? == Handle::from_path(path)? {
            return Ok(file);
        }
    }
}

pub(super) fn with_path(path: &Path) -> impl Fn(io::Error) -> ConfigError {
    move |source| ConfigError::Io { path: path.to_owned(), source }
}
