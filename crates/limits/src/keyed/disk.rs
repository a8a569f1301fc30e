//! The configuration store that outlives its process.

#![expect(
    clippy::result_large_err,
    reason = "the database's own error, turned into ours before it is handed on"
)]

use super::{ConfigError, ConfigStore, Limits, MemoryConfig, Scope};
use crate::sync::Mutex;
use redb::{Database, Error, ReadableTable, TableDefinition};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Limits by key, as text.
const KEYS: TableDefinition<'_, &str, &str> = TableDefinition::new("keys");
/// Defaults by prefix, as text.
const PREFIXES: TableDefinition<'_, &str, &str> = TableDefinition::new("prefixes");

/// Where a file says how it is laid out, in three numbers of 32 bits.
const LAYOUT: Range<usize> = 12..24;
/// Bytes of a page; pages of a region's header; pages of its data. What [`redb`] gives to every file whose builder says nothing else.
const SIZES: [u32; 3] = [4096, 130, 1 << 20];

/// A configuration in a file, so that none is lost when the process dies: a change is on disk before
/// [`set`](ConfigStore::set) returns. All of it is in memory too, and answers come from there; only changes touch the disk,
/// each at the price of a flush.
///
/// The file is a [`redb`] database (version 2.6, file format 3, which its later versions read too). It is written by copy and
/// one switch, so a process that is killed at any moment leaves all of a change or nothing of it. When it is opened, the
/// checksums of all that is stored are compared, and the header's layout with the only one there is. One store at a time has it open.
///
/// ```
/// use nanopace_limits::keyed::{ConfigStore, DiskConfig, Scope};
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
    /// Locked from a change on disk until the same change of the cache, so that both have the same last one.
    database: Mutex<Database>,
    path: PathBuf,
}

/// Whose limits, by kind and name, and what they are.
type Stored = (bool, String, String);

impl DiskConfig {
    /// Opens the store at `path`, or begins one where there is no file.
    ///
    /// # Errors
    /// [`ConfigError`] when it can't be read, is open already, is damaged, or is something else.
    pub fn open(path: impl AsRef<Path>) -> Result<DiskConfig, ConfigError> {
        let path = path.as_ref().to_owned();
        if !path.exists() {
            begin(&path)?;
        }
        let (database, entries) = guarded(&path, || {
            check_layout(&path)?;
            let mut database = Database::open(&path)?;
            if !database.check_integrity()? {
                return Err(Error::Corrupted("a checksum is wrong".to_owned()));
            }
            let entries = read(&database)?;
            Ok((database, entries))
        })?;
        let cache = MemoryConfig::new();
        for (is_prefix, name, text) in &entries {
            let limits: Result<Limits, _> = text.parse();
            let limits = limits.map_err(|error| damaged(&path, format!("limits of `{name}`: {error}")))?;
            cache.change(if *is_prefix { Scope::Prefix(name) } else { Scope::Key(name) }, Some(limits));
        }
        Ok(DiskConfig { cache, database: Mutex::new(database), path })
    }

    /// On disk, then in the cache.
    fn change(&self, scope: Scope<'_>, limits: Option<Limits>) -> Result<bool, ConfigError> {
        let database = self.database.lock();
        guarded(&self.path, || write(&database, scope, limits.as_ref()))?;
        Ok(self.cache.change(scope, limits))
    }
}

impl ConfigStore for DiskConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.cache.limits_of(key)
    }

    fn version(&self) -> u64 {
        self.cache.version()
    }

    fn set(&self, scope: Scope<'_>, limits: Limits) -> Result<(), ConfigError> {
        self.change(scope, Some(limits)).map(drop)
    }

    fn unset(&self, scope: Scope<'_>) -> Result<bool, ConfigError> {
        self.change(scope, None)
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

/// An empty store at `path`: written aside and moved there when it is whole, unless someone else was faster.
fn begin(path: &Path) -> Result<(), ConfigError> {
    let io = |source| ConfigError::Io { path: path.to_owned(), source };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let aside = NamedTempFile::new_in(directory).map_err(io)?;
    let file = aside.reopen().map_err(io)?;
    guarded(path, || {
        let database = Database::builder().create_with_file_format_v3(true).create_file(file)?;
        let transaction = database.begin_write()?;
        transaction.open_table(KEYS)?;
        transaction.open_table(PREFIXES)?;
        Ok(transaction.commit()?)
    })?;
    match aside.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(io(error.error)),
        _ => Ok(()),
    }
}

/// The database believes the sizes in its header, and may calculate for minutes with wrong ones.
fn check_layout(path: &Path) -> Result<(), Error> {
    let mut header = [0; LAYOUT.end];
    File::open(path)?.read_exact(&mut header)?;
    if header[LAYOUT] != SIZES.map(u32::to_le_bytes).concat() {
        return Err(Error::Corrupted("its header is none that was ever written".to_owned()));
    }
    Ok(())
}

fn read(database: &Database) -> Result<Vec<Stored>, Error> {
    let transaction = database.begin_read()?;
    let mut entries = Vec::new();
    for (is_prefix, table) in [(false, KEYS), (true, PREFIXES)] {
        for entry in transaction.open_table(table)?.iter()? {
            let (name, text) = entry?;
            entries.push((is_prefix, name.value().to_owned(), text.value().to_owned()));
        }
    }
    Ok(entries)
}

fn write(database: &Database, scope: Scope<'_>, limits: Option<&Limits>) -> Result<(), Error> {
    let (table, name) = match scope {
        Scope::Key(key) => (KEYS, key),
        Scope::Prefix(prefix) => (PREFIXES, prefix),
    };
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(table)?;
        match limits {
            Some(limits) => table.insert(name, limits.to_string().as_str())?,
            None => table.remove(name)?,
        };
    }
    Ok(transaction.commit()?)
}

/// What the database does with a file, with its errors as ours. On some damaged files it panics instead of returning one.
fn guarded<T>(path: &Path, access: impl FnOnce() -> Result<T, Error>) -> Result<T, ConfigError> {
    let path = path.to_owned();
    match catch_unwind(AssertUnwindSafe(access)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Error::DatabaseAlreadyOpen)) => Err(ConfigError::InUse { path }),
        Ok(Err(Error::Io(source))) if !tells_of_damage(source.kind()) => {
            Err(ConfigError::Io { path, source })
        }
        Ok(Err(Error::PreviousIo)) => {
            Err(ConfigError::Io { path, source: io::Error::other("it failed before") })
        }
        Ok(Err(error)) => Err(damaged(&path, error.to_string())),
        Err(_) => Err(damaged(&path, "its pages contradict each other".to_owned())),
    }
}

fn tells_of_damage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

fn damaged(path: &Path, reason: String) -> ConfigError {
    ConfigError::Damaged { path: path.to_owned(), reason }
}
