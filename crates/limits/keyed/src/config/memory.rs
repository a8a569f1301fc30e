//! The configuration store in memory.

use super::change::Change;
use super::error::ConfigError;
use super::snapshot::ConfigSnapshot;
use super::store::ConfigStore;
use super::tables::Tables;
use super::versions::Versions;
use crate::Limits;
use crate::sync::{Mutex, lock};
use std::fmt;
use std::sync::Arc;

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
pub struct MemoryConfig {
    /// Shared with snapshots, and copied by the next change while there are any.
    tables: Mutex<Arc<Tables>>,
    /// Raised with the tables locked.
    versions: Versions,
}

impl MemoryConfig {
    /// A configuration in which no key has limits.
    #[must_use]
    pub fn new() -> MemoryConfig {
        MemoryConfig::from(ConfigSnapshot::default())
    }

    /// Makes the changes in one step. Returns how many of them found limits to replace or remove.
    pub(crate) fn make(&self, changes: &[Change<'_>]) -> usize {
        let mut tables = lock(&self.tables);
        let own = Arc::make_mut(&mut tables);
        let found = changes.iter().filter(|change| own.change(change)).count();
        self.versions.raise(changes);
        found
    }

    /// Becomes what the snapshot says, in one step. Nobody else may change it meanwhile.
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
