//! The configuration store in memory.

use super::snapshot::{Change, ConfigSnapshot, Scope, Tables};
use super::store::{ConfigError, ConfigStore};
use crate::Limits;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use foldhash::fast::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// A configuration in memory, which is lost when the process ends.
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
pub struct MemoryConfig {
    tables: Mutex<Arc<Tables>>,
    /// The versions of the limits. They are raised only while `tables` is locked.
    versions: Versions,
}

impl MemoryConfig {
    /// Creates a configuration in which no key has limits.
    #[must_use]
    pub fn new() -> MemoryConfig {
        MemoryConfig::from(ConfigSnapshot::default())
    }

    pub(crate) fn make(&self, changes: &[Change<'_>]) -> usize {
        let mut tables = lock(&self.tables);
        let own = Arc::make_mut(&mut tables);
        let found = changes.iter().filter(|change| own.change(change)).count();
        self.versions.raise(changes);
        found
    }

    /// Makes this configuration equal to a snapshot. The caller excludes concurrent changes.
    #[cfg(feature = "file")]
    pub(crate) fn become_like(&self, snapshot: &ConfigSnapshot) {
        let before = self.snapshot();
        let changes = snapshot.changes_from(&before);
        let mut tables = lock(&self.tables);
        *tables = Arc::clone(&snapshot.0);
        self.versions.raise(&changes);
    }
}

impl Default for MemoryConfig {
    fn default() -> MemoryConfig {
        MemoryConfig::new()
    }
}

impl From<ConfigSnapshot> for MemoryConfig {
    fn from(snapshot: ConfigSnapshot) -> MemoryConfig {
        MemoryConfig { tables: Mutex::new(snapshot.0), versions: Versions::new() }
    }
}

impl ConfigStore for MemoryConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        lock(&self.tables).limits_of(key)
    }

    fn version_of(&self, key: &str) -> u64 {
        self.versions.of(key)
    }

    fn snapshot(&self) -> ConfigSnapshot {
        ConfigSnapshot(Arc::clone(&lock(&self.tables)))
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError> {
        Ok(self.make(changes))
    }
}

impl fmt::Debug for MemoryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        f.debug_struct("MemoryConfig")
            .field("keys", &snapshot.keys().len())
            .field("prefixes", &snapshot.prefixes().len())
            .finish_non_exhaustive()
    }
}

/// The number of counters, which keys share by hash. A loom model has one counter, because its executions must not
/// depend on the hash.
const COUNTERS: usize = if cfg!(loom) { 1 } else { 1024 };

#[derive(Debug)]
struct Versions {
    prefixes: AtomicU64,
    keys: [AtomicU64; COUNTERS],
    hasher: RandomState,
}

impl Versions {
    fn new() -> Versions {
        Versions {
            prefixes: AtomicU64::new(0),
            keys: std::array::from_fn(|_| AtomicU64::new(0)),
            hasher: RandomState::default(),
        }
    }

    /// Returns the sum of two counters that only rise, so the sum is unchanged only if both counters are unchanged.
    fn of(&self, key: &str) -> u64 {
        // Relaxed: as in `raise`. Model: `a_change_is_seen_by_every_later_decision`.
        self.prefixes.load(Relaxed).wrapping_add(self.counter(key).load(Relaxed))
    }

    /// Raises the counters of all changes. The caller holds the lock of the tables, and has made the changes.
    fn raise(&self, changes: &[Change<'_>]) {
        for change in changes {
            let counter = match change.scope {
                Scope::Key(key) => self.counter(key),
                Scope::Prefix(_) => &self.prefixes,
            };
            // Relaxed: the counter is raised under the lock of the tables, after the tables were changed. A decision
            // that reads the raised counter and then locks the tables locks them after this change: if the decision had
            // locked them earlier, its read would have come before this write. Models:
            // `a_change_is_seen_by_every_later_decision`, `a_batch_is_seen_as_a_whole`.
            counter.fetch_add(1, Relaxed);
        }
    }

    fn counter(&self, key: &str) -> &AtomicU64 {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        &self.keys[usize::from(u16::from_le_bytes([low, high])) % COUNTERS]
    }
}
