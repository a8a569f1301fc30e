//! A configuration store that keeps its content on disk.

mod integrity;
mod locked_file;
mod tables;
#[cfg(test)]
mod tests;

use crate::atomic_file::{aside, sync_folder};
use crate::config::check_strings;
use crate::sync::{Mutex, lock};
use crate::{Change, ConfigError, ConfigSnapshot, ConfigStore, Limits, MemoryConfig, Scope};
use integrity::{examined, restored};
use locked_file::LockedFile;
use redb::{Database, Error};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tables::write;

/// A configuration in a file. A change is on disk before [`set`](ConfigStore::set) returns, so no change is lost when
/// the process dies. The whole configuration is in memory as well, and is read from there. Once the file is open, only
/// changes and the drop of the store access the disk. Each change flushes the file twice.
///
/// The file is a [`redb`] database in file format 3.
///
/// A new state is first written next to the old one. When the new state is on disk, one write switches to it. If the
/// process is killed during a change, the file contains either the whole change or none of it. Only one store at a time
/// can open the file.
///
/// When a change fails (the disk is full, for instance), the error gives the reason ([`ConfigError::Io`]), and
/// decisions use the limits from before the change. The file stays locked. The next change reopens the database, writes
/// the configuration in memory to the file, and then makes the change. So the store works again as soon as the disk
/// does. (Until then, each attempt at a change costs as much as opening the file.) If the process ends before the next
/// change succeeds, the file may contain the whole failed change, but never a part of it.
///
/// Opening a file reads all of it, and verifies the checksums in a copy in memory. Damage that cannot be repaired is an
/// error, and the file is not changed.
///
/// ```
/// use nanopace_keyed::{ConfigStore, DiskConfig, Scope};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("limits.redb");
///
/// let config = DiskConfig::open(&path)?;
/// config.set(Scope::Prefix("user:"), "100/s, 5000/h in 60".parse()?)?;
/// drop(config);
///
/// let config = DiskConfig::open(&path)?;
/// assert_eq!(config.limits_of("user:alice").unwrap().to_string(), "100/s, 5000/h in 60");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiskConfig {
    cache: MemoryConfig,
    /// Locked until a change is on disk and in the cache, so that changes reach both in the same order. `None` after an
    /// error.
    database: Mutex<Option<Database>>,
    file: LockedFile,
    path: PathBuf,
}

impl DiskConfig {
    /// Opens the store at `path`, or creates an empty one if there is no file.
    ///
    /// # Errors
    /// Returns [`ConfigError::Io`] if the file cannot be read or written, [`ConfigError::InUse`] if it is open
    /// elsewhere, and [`ConfigError::Damaged`] if it is damaged or not a store.
    pub fn open(path: impl AsRef<Path>) -> Result<DiskConfig, ConfigError> {
        let path = path.as_ref();
        if !path.exists() {
            begin(path)?;
        }
        let file = LockedFile::open(path).map_err(|error| of_database(path, error))?;
        DiskConfig::on(path.to_owned(), file)
    }

    fn on(path: PathBuf, file: LockedFile) -> Result<DiskConfig, ConfigError> {
        let (database, cache) = opened(&path, &file)?;
        Ok(DiskConfig { cache, database: Mutex::new(Some(database)), file, path })
    }

    /// Reopens the database after an error, and replaces its content with that of the cache, because the failed change
    /// may be on disk.
    fn recovered(&self) -> Result<Database, ConfigError> {
        restored(&self.file).map_err(|error| of_database(&self.path, error))?;

        let (database, stored) = opened(&self.path, &self.file)?;
        let (stored, known) = (stored.snapshot(), self.cache.snapshot());
        write(&database, &known.changes_from(&stored))
            .map_err(|error| of_database(&self.path, error))?;
        Ok(database)
    }
}

impl ConfigStore for DiskConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.cache.limits_of(key)
    }

    fn version_of(&self, key: &str) -> u64 {
        self.cache.version_of(key)
    }

    fn snapshot(&self) -> ConfigSnapshot {
        self.cache.snapshot()
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError> {
        check_strings(changes)?;
        let mut open = lock(&self.database);
        let database = open.take().map_or_else(|| self.recovered(), Ok)?;
        write(&database, changes).map_err(|error| of_database(&self.path, error))?;
        *open = Some(database);
        Ok(self.cache.make(changes))
    }
}

impl fmt::Debug for DiskConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskConfig")
            .field("path", &self.path)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

fn begin(path: &Path) -> Result<(), ConfigError> {
    let io = |source| ConfigError::Io { path: path.to_owned(), source };
    let new = aside(path).map_err(io)?;
    let file = new.reopen().map_err(io)?;
    tables::create(file).map_err(|error| of_database(path, error))?;
    match new.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(io(error.error)),
        _ => sync_folder(path).map_err(io),
    }
}

fn opened(path: &Path, file: &LockedFile) -> Result<(Database, MemoryConfig), ConfigError> {
    let (database, entries) = examined(file).map_err(|error| of_database(path, error))?;
    let cache = MemoryConfig::new();
    for (is_prefix, name, text) in &entries {
        let limits =
            text.parse().map_err(|error| damaged(path, format!("limits of `{name}`: {error}")))?;
        let scope = if *is_prefix { Scope::Prefix(name) } else { Scope::Key(name) };
        cache.make(&[Change::set(scope, limits)]);
    }
    Ok((database, cache))
}

fn of_database(path: &Path, error: Error) -> ConfigError {
    let path = path.to_owned();
    match error {
        Error::DatabaseAlreadyOpen => ConfigError::InUse { path },
        // A pointer in the file leads past the end of the file, or before its beginning.
        Error::Io(source)
            if matches!(source.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidInput) =>
        {
            damaged(&path, source.to_string())
        }
        Error::Io(source) => ConfigError::Io { path, source },
        Error::PreviousIo => {
            ConfigError::Io { path, source: io::Error::other("an earlier access failed") }
        }
        Error::Corrupted(reason) => damaged(&path, reason),
        error => damaged(&path, error.to_string()),
    }
}

fn damaged(path: &Path, reason: String) -> ConfigError {
    ConfigError::Damaged { path: path.to_owned(), reason }
}
