//! The configuration store: which limits each key has.

use crate::Limits;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Says whose limits are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope<'a> {
    /// Those of this key.
    Key(&'a str),
    /// The defaults of all keys that begin with this prefix and have no limits of their own. If
    /// there are several such prefixes, the longest one counts. The empty prefix is that of all
    /// keys.
    Prefix(&'a str),
}

/// The limits that each key has: its own, or the defaults of the longest prefix. Any thread can
/// change them at any time.
///
/// Each decision asks the store, so an implementation answers from memory. [`MemoryConfig`] keeps
/// everything there and nowhere else. `DiskConfig` (feature `disk`) writes each change to disk
/// first.
pub trait ConfigStore: Debug + Send + Sync {
    /// The key's limits, if it has any.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix("user:"), "10/s".parse()?)?;
    /// assert_eq!(config.limits_of("user:bob").unwrap().to_string(), "10/s");
    /// assert!(config.limits_of("guest").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>>;

    /// A number that is different after each change of any limits.
    ///
    /// A caller that asks for the version first and for [`limits_of`](ConfigStore::limits_of)
    /// afterwards may keep the limits until the version changes.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// let version = config.version();
    /// config.set(Scope::Prefix(""), "10/s".parse()?)?;
    /// assert_ne!(config.version(), version);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn version(&self) -> u64;

    /// Gives limits to a key, or to all keys that begin with a prefix.
    ///
    /// # Errors
    /// [`ConfigError`] if they could not be stored. Nothing has changed then.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Key("alice"), "5/s, 1000/h in 60".parse()?)?;
    /// assert_eq!(config.limits_of("alice").unwrap().each().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn set(&self, scope: Scope<'_>, limits: Limits) -> Result<(), ConfigError>;

    /// Takes the limits of a key or a prefix away. Returns whether there were any.
    ///
    /// # Errors
    /// [`ConfigError`] if that could not be stored. Nothing has changed then.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Key("alice"), "5/s".parse()?)?;
    /// assert!(config.unset(Scope::Key("alice"))?);
    /// assert!(!config.unset(Scope::Key("alice"))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn unset(&self, scope: Scope<'_>) -> Result<bool, ConfigError>;
}

/// Why a configuration could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not a configuration store, or it is damaged.
    #[error(
        "{path} is no intact configuration store ({reason}): restore it from a copy, or move it away to begin with none"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is in a format of its database that is no longer read. No version of this store has
    /// written such files.
    #[error(
        "{path} is in file format {format}, which is no longer read: upgrade it by `Database::upgrade` of redb 2.6, or move it away to begin with no limits"
    )]
    OldFormat {
        /// The file.
        path: PathBuf,
        /// Its format, 1 or 2. Format 3 is read.
        format: u8,
    },
    /// Another process or another store has the file open.
    #[error("{path} is open in another process or another store: close it there first")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The operating system could not read or write the file.
    #[error("{path} can't be read or written: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
}

/// A configuration in memory. It is gone when the process ends.
///
/// ```
/// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
///
/// let config = MemoryConfig::new();
/// config.set(Scope::Prefix(""), "10/s".parse()?)?;
/// config.set(Scope::Prefix("user:"), "100/s".parse()?)?;
/// config.set(Scope::Key("user:alice"), "5/s, 1000/h in 60".parse()?)?;
///
/// let limits = |key| config.limits_of(key).map(|limits| limits.to_string());
/// assert_eq!(limits("guest").as_deref(), Some("10/s"));
/// assert_eq!(limits("user:bob").as_deref(), Some("100/s"));
/// assert_eq!(limits("user:alice").as_deref(), Some("5/s, 1000/h in 60"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryConfig {
    tables: Mutex<Tables>,
    /// Raised by `change` only, with the tables locked.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Tables {
    keys: HashMap<String, Arc<Limits>>,
    prefixes: BTreeMap<String, Arc<Limits>>,
}

impl MemoryConfig {
    /// A configuration in which no key has limits.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig};
    ///
    /// assert!(MemoryConfig::new().limits_of("alice").is_none());
    /// ```
    #[must_use]
    pub fn new() -> MemoryConfig {
        MemoryConfig { tables: Mutex::new(Tables::default()), version: AtomicU64::new(0) }
    }

    pub(crate) fn change(&self, scope: Scope<'_>, limits: Option<Limits>) -> bool {
        let mut tables = lock(&self.tables);
        let had_any = tables.change(scope, limits.map(Arc::new));
        // Relaxed: written with the tables locked, after they were changed. A decision that reads
        // this number and then locks the tables locks them after this. Otherwise it would have read
        // a number that is written later. Model: `a_change_is_seen_by_every_later_decision`.
        self.version.fetch_add(1, Relaxed);
        had_any
    }
}

impl Default for MemoryConfig {
    fn default() -> MemoryConfig {
        MemoryConfig::new()
    }
}

impl ConfigStore for MemoryConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        lock(&self.tables).limits_of(key)
    }

    fn version(&self) -> u64 {
        // Relaxed: as in `change`. Model: `a_change_is_seen_by_every_later_decision`.
        self.version.load(Relaxed)
    }

    fn set(&self, scope: Scope<'_>, limits: Limits) -> Result<(), ConfigError> {
        self.change(scope, Some(limits));
        Ok(())
    }

    fn unset(&self, scope: Scope<'_>) -> Result<bool, ConfigError> {
        Ok(self.change(scope, None))
    }
}

impl Tables {
    /// Whether there were any limits before.
    fn change(&mut self, scope: Scope<'_>, limits: Option<Arc<Limits>>) -> bool {
        let before = match (scope, limits) {
            (Scope::Key(key), Some(limits)) => self.keys.insert(key.to_owned(), limits),
            (Scope::Key(key), None) => self.keys.remove(key),
            (Scope::Prefix(prefix), Some(limits)) => {
                self.prefixes.insert(prefix.to_owned(), limits)
            }
            (Scope::Prefix(prefix), None) => self.prefixes.remove(prefix),
        };
        before.is_some()
    }

    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.keys.get(key).or_else(|| self.defaults_of(key)).cloned()
    }

    /// Those of the longest prefix. A prefix of the key that sorts before another text is no longer
    /// than what the key and that text have in common, so the search goes on from there.
    fn defaults_of(&self, key: &str) -> Option<&Arc<Limits>> {
        let mut upper = key;
        loop {
            let range = (Bound::Unbounded, Bound::Included(upper));
            let (prefix, limits) = self.prefixes.range::<str, _>(range).next_back()?;
            if key.starts_with(prefix.as_str()) {
                return Some(limits);
            }
            upper = in_common(key, prefix);
        }
    }
}

/// What both texts begin with.
fn in_common<'a>(text: &'a str, other: &str) -> &'a str {
    let same = text.chars().zip(other.chars()).take_while(|(one, another)| one == another);
    &text[..same.map(|(one, _)| one.len_utf8()).sum()]
}
