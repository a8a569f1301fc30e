//! The trait of configuration stores, and their errors.

use super::snapshot::{Change, ConfigSnapshot, Scope};
use crate::Limits;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// A store that contains the limits of each key: the key's own limits, or those of the longest prefix that matches the
/// key. Any thread can change the limits.
///
/// Each decision calls [`version_of`](ConfigStore::version_of). The first decision on a key, and the first one after a
/// change, also call [`limits_of`](ConfigStore::limits_of). An implementation should therefore read both from memory.
/// [`MemoryConfig`] stores everything in memory. `DiskConfig` (feature `disk`) writes each change to disk first.
///
/// # Several changes at once
///
/// [`apply`](ConfigStore::apply) makes all of its changes, a *batch*, or none. Decisions see a batch as follows:
///
/// * A decision uses the limits from before the whole batch or from after the whole batch, even if the batch changes
///   several prefixes and the own limits of the decision's key.
/// * After a decision that used a batch, every later decision uses that batch too, whatever its key. *Later* means
///   later on the same thread, or on another thread after it has synchronized with that thread (with a lock, a channel
///   or a join).
/// * Say two decisions on different keys are made while a batch is applied, and neither is later than the other. Then
///   one may use the old limits of its key, and the other the new limits of its key.
///
/// [`MemoryConfig`]: crate::MemoryConfig
pub trait ConfigStore: Debug + Send + Sync {
    /// Returns the key's limits, or `None` if it has no limits.
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>>;

    /// Returns a number that is different after each change of this key's limits, and possibly after other changes. In
    /// [`MemoryConfig`](crate::MemoryConfig), the number is also different after each change of a prefix, and after
    /// each change of a key that shares one of 1,024 counters with this key.
    ///
    /// A caller that reads the version before it calls [`limits_of`](ConfigStore::limits_of) may keep the limits until
    /// the version changes.
    fn version_of(&self, key: &str) -> u64;

    /// Returns a snapshot of the whole configuration.
    fn snapshot(&self) -> ConfigSnapshot;

    /// Makes all of the changes in one step. If several changes are for the same key or prefix, the last one takes
    /// effect. Returns the number of changes that replaced or removed limits.
    ///
    /// # Errors
    /// Returns [`ConfigError`] if the changes could not be stored. In that case, decisions use the limits from before
    /// the changes.
    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError>;

    /// Sets the limits of a key or a prefix.
    ///
    /// # Errors
    /// Returns the same errors as [`apply`](ConfigStore::apply).
    fn set(&self, scope: Scope<'_>, limits: Limits) -> Result<(), ConfigError> {
        self.apply(&[Change::set(scope, limits)]).map(drop)
    }

    /// Removes the limits of a key or a prefix. Returns whether the key or prefix had limits.
    ///
    /// # Errors
    /// Returns the same errors as [`apply`](ConfigStore::apply).
    fn unset(&self, scope: Scope<'_>) -> Result<bool, ConfigError> {
        Ok(self.apply(&[Change::unset(scope)])? > 0)
    }
}

/// Checks that all limits can be read again from the strings in which a store keeps them.
#[cfg(any(feature = "disk", feature = "file"))]
pub(crate) fn check_strings(changes: &[Change<'_>]) -> Result<(), ConfigError> {
    for limits in changes.iter().filter_map(|change| change.limits.as_ref()) {
        limits.to_string().parse::<Limits>().map_err(|error| ConfigError::Other(error.into()))?;
    }
    Ok(())
}

/// The error for a configuration that could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not a configuration store, or it is damaged.
    #[error(
        "{path} is not an intact configuration store ({reason}): restore the file from a copy, or move the file away to start without limits"
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// A description of the damage.
        reason: String,
    },
    /// The file is not a document of limits, or an entry is not valid.
    #[error("{path} is not a document of limits: {reason}")]
    Document {
        /// The path of the file.
        path: PathBuf,
        /// A description of the fault and its position in the file.
        reason: String,
    },
    /// Another process or another store has the file open.
    #[error("{path} is open in another process or another store: close it there first")]
    InUse {
        /// The path of the file.
        path: PathBuf,
    },
    /// The operating system could not read or write the file.
    #[error("{path} cannot be read or written: {source}")]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A store of another kind could not read or change the configuration, or a file cannot keep the limits.
    #[error("the configuration cannot be read or changed: {0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
}
