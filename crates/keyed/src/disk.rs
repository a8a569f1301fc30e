//! The configuration store that outlives its process.

use crate::sync::{Mutex, lock};
use crate::{ConfigError, ConfigStore, Limits, MemoryConfig, Scope};
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Database, Error, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Limits by key, as text.
const KEYS: TableDefinition<'_, &str, &str> = TableDefinition::new("keys");
/// Defaults by prefix, as text.
const PREFIXES: TableDefinition<'_, &str, &str> = TableDefinition::new("prefixes");

/// What a file begins with.
const MAGIC: [u8; 9] = *b"redb\x1A\n\xA9\r\n";
/// Where it says how it is laid out, in five numbers of 32 bits.
const LAYOUT: Range<usize> = 12..32;
/// The first three numbers: bytes of a page; pages of a region's header; pages of its data. By
/// default [`redb`] gives the first row to every new file since its version 3, and gave the second
/// row before.
const SIZES: [[u32; 3]; 2] = [[4096, 0, 1 << 20], [4096, 130, 1 << 20]];

/// Where it says which of the last two states is the current one (bit 0), and how that was
/// committed.
const FLAGS: usize = 9;
/// It was committed in two phases.
const TWO_PHASES: u8 = 4;
/// Where it says in which format each of the two is.
const FORMATS: [usize; 2] = [64, 192];
/// Where it says how many transactions each of the two has seen.
const TRANSACTIONS: [usize; 2] = [168, 296];

/// A configuration in a file. A change is on disk before [`set`](ConfigStore::set) returns, so none
/// is lost when the process dies. All of the configuration is in memory as well, and answers come
/// from there. Only changes touch the disk, and each of them flushes it.
///
/// The file is a [`redb`] database in file format 3. Earlier versions of this store wrote their
/// files with redb 2.6, in the same format, and those files are opened as they are. A file in an
/// older format is an error ([`ConfigError::OldFormat`]), and stays as it is.
///
/// A change is first written beside the old state. When it is on disk, one write switches to it. So
/// a process that is killed at any moment leaves all of a change or nothing of it. Only one store
/// at a time has the file open.
///
/// Opening a file reads all of it, and compares the checksums in this copy. If something is wrong
/// and can't be computed from the rest, that is an error, and the file stays as it is. (On some
/// damaged files the database panics. The panic is caught and becomes that error. A program that is
/// built to abort on a panic does so.)
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
    /// Locked from a change on disk until the same change of the cache, so that the same change comes
    /// last in both.
    database: Mutex<Database>,
    path: PathBuf,
}

/// Whether it is a prefix or a key, its name, and its limits.
type Stored = (bool, String, String);

impl DiskConfig {
    /// Opens the store at `path`, or creates an empty one if there is no file.
    ///
    /// # Errors
    /// [`ConfigError::Io`] if the file can't be read or written, [`ConfigError::InUse`] if it is
    /// open elsewhere, [`ConfigError::OldFormat`] if it must be upgraded first,
    /// [`ConfigError::Damaged`] if it is damaged or something else.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigError, DiskConfig};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("limits.redb");
    /// let config = DiskConfig::open(&path)?;
    /// assert!(matches!(DiskConfig::open(&path), Err(ConfigError::InUse { .. })));
    /// # drop(config);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<DiskConfig, ConfigError> {
        let path = path.as_ref().to_owned();
        if !path.exists() {
            begin(&path)?;
        }
        let (database, entries) = guarded(&path, || {
            let file = LockedFile::open(&path)?;
            let mut bytes = content(&file)?;
            let (entries, is_whole) =
                examined(&mut bytes).map_err(|error| of_a_copy(error, &bytes))?;
            file.write(FLAGS as u64, &bytes[FLAGS..=FLAGS])?;
            let mut database = Database::builder().create_with_backend(file)?;
            if !is_whole {
                database.check_integrity()?;
            }
            Ok((database, entries))
        })?;
        let cache = MemoryConfig::new();
        for (is_prefix, name, text) in &entries {
            let limits: Result<Limits, _> = text.parse();
            let limits =
                limits.map_err(|error| damaged(&path, format!("limits of `{name}`: {error}")))?;
            cache.change(
                if *is_prefix { Scope::Prefix(name) } else { Scope::Key(name) },
                Some(limits),
            );
        }
        Ok(DiskConfig { cache, database: Mutex::new(database), path })
    }

    /// On disk, then in the cache.
    fn change(&self, scope: Scope<'_>, limits: Option<Limits>) -> Result<bool, ConfigError> {
        let database = lock(&self.database);
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

/// Creates an empty store at `path`. It is written aside and moved there when it is complete,
/// unless another process was faster.
fn begin(path: &Path) -> Result<(), ConfigError> {
    let io = |source| ConfigError::Io { path: path.to_owned(), source };
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let aside = NamedTempFile::new_in(directory).map_err(io)?;
    let file = aside.reopen().map_err(io)?;
    guarded(path, || {
        let database = Database::builder().create_with_backend(FileBackend::new(file)?)?;
        let transaction = begin_write(&database)?;
        transaction.open_table(KEYS)?;
        transaction.open_table(PREFIXES)?;
        Ok(transaction.commit()?)
    })?;
    match aside.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(io(error.error)),
        _ => Ok(()),
    }
}

/// A file that is locked from before its first byte is read. The database would lock it only after
/// its bytes were examined.
#[derive(Debug)]
struct LockedFile(FileBackend);

impl LockedFile {
    /// Locks the whole file, as redb 2.6 does and its later versions look for.
    fn open(path: &Path) -> Result<LockedFile, Error> {
        let file = File::options().read(true).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(LockedFile(FileBackend::new(file)?)),
            Err(TryLockError::WouldBlock) => Err(Error::DatabaseAlreadyOpen),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

/// Says nothing of locks, so the database takes none of its own.
impl StorageBackend for LockedFile {
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

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

/// All bytes of a file that begins as it should.
fn content(file: &LockedFile) -> Result<Vec<u8>, Error> {
    let length =
        usize::try_from(file.len()?).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
    let mut header = vec![0; length.min(LAYOUT.end)];
    file.read(0, &mut header)?;
    check_header(&header, length)?;
    let mut bytes = vec![0; length];
    file.read(0, &mut bytes)?;
    Ok(bytes)
}

/// The database trusts the sizes in its header. With wrong ones it may calculate for minutes, or
/// panic.
fn check_header(header: &[u8], length: usize) -> Result<(), Error> {
    let layout = header.get(LAYOUT).filter(|_| header.starts_with(&MAGIC)).unwrap_or_default();
    let (numbers, _) = layout.as_chunks();
    let numbers: Vec<u32> = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
    match numbers[..] {
        [page, header, data, regions, rest] if SIZES.contains(&[page, header, data]) => {
            let [page, header, data] = [page, header, data].map(u128::from);
            let rest = if rest > 0 { header + u128::from(rest) } else { 0 };
            let whole = (1 + u128::from(regions) * (header + data) + rest) * page;
            let is_whole = whole <= length as u128;
            is_whole
                .then_some(())
                .ok_or_else(|| Error::Corrupted(format!("{length} bytes are left of {whole}")))
        }
        _ => Err(Error::Corrupted("its header is none that was ever written".to_owned())),
    }
}

/// What is stored in a file of these bytes, and whether all of it was intact. Otherwise something
/// had to be computed from the rest.
fn examined(bytes: &mut [u8]) -> Result<(Vec<Stored>, bool), Error> {
    let current = loaded(bytes)?;
    if !is_other_newer(bytes) {
        return Ok(current);
    }
    // The process died before it switched to the other state, which may be incomplete. If states
    // were not committed in two phases, the database takes the newest one that is complete.
    bytes[FLAGS] &= !TWO_PHASES;
    loaded(bytes)
}

fn is_other_newer(bytes: &[u8]) -> bool {
    let transactions = |state: u8| {
        let start = TRANSACTIONS[usize::from(state & 1)];
        bytes[start..start + 8].iter().rev()
    };
    transactions(bytes[FLAGS] ^ 1).gt(transactions(bytes[FLAGS]))
}

fn loaded(bytes: &[u8]) -> Result<(Vec<Stored>, bool), Error> {
    let copy = InMemoryBackend::new();
    copy.set_len(bytes.len() as u64)?;
    copy.write(0, bytes)?;
    let mut database = Database::builder().create_with_backend(copy)?;
    let is_whole = database.check_integrity()?;
    Ok((read(&database)?, is_whole))
}

/// The error of reading a copy. It can't come from the operating system. A file that really is in an
/// old format says so in both states.
fn of_a_copy(error: Error, bytes: &[u8]) -> Error {
    match error {
        Error::Io(error) => Error::Corrupted(error.to_string()),
        Error::UpgradeRequired(_) if bytes[FORMATS[0]] != bytes[FORMATS[1]] => {
            Error::Corrupted("its two states have different formats".to_owned())
        }
        error => error,
    }
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

/// Begins a transaction in two phases. So the last state that was committed is known to be complete.
/// If it is not, it was damaged, and an older state does not take its place.
fn begin_write(database: &Database) -> Result<WriteTransaction, Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

fn write(database: &Database, scope: Scope<'_>, limits: Option<&Limits>) -> Result<(), Error> {
    let (table, name) = match scope {
        Scope::Key(key) => (KEYS, key),
        Scope::Prefix(prefix) => (PREFIXES, prefix),
    };
    let transaction = begin_write(database)?;
    {
        let mut table = transaction.open_table(table)?;
        match limits {
            Some(limits) => table.insert(name, limits.to_string().as_str())?,
            None => table.remove(name)?,
        };
    }
    Ok(transaction.commit()?)
}

/// What the database does with a file, with its errors as ours. On some damaged files it panics
/// instead of returning one.
fn guarded<T>(path: &Path, access: impl FnOnce() -> Result<T, Error>) -> Result<T, ConfigError> {
    let path = path.to_owned();
    match catch_unwind(AssertUnwindSafe(access)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Error::DatabaseAlreadyOpen)) => Err(ConfigError::InUse { path }),
        Ok(Err(Error::UpgradeRequired(format))) => Err(ConfigError::OldFormat { path, format }),
        Ok(Err(Error::Io(source))) => Err(ConfigError::Io { path, source }),
        Ok(Err(Error::PreviousIo)) => {
            Err(ConfigError::Io { path, source: io::Error::other("it failed before") })
        }
        Ok(Err(Error::Corrupted(reason))) => Err(damaged(&path, reason)),
        Ok(Err(error)) => Err(damaged(&path, error.to_string())),
        Err(_) => Err(damaged(&path, "its pages contradict each other".to_owned())),
    }
}

fn damaged(path: &Path, reason: String) -> ConfigError {
    ConfigError::Damaged { path: path.to_owned(), reason }
}
