//! A configuration at one moment.

use super::change::{Change, Scope};
use super::tables::{Table, Tables};
use crate::Limits;
use std::sync::Arc;

/// A configuration as it was at one moment: every key and every prefix with its limits, in order.
/// It never changes.
///
/// [`ConfigStore::snapshot`](crate::ConfigStore::snapshot) takes one in constant time, and shares
/// all of it with the store. While snapshots are kept, the first change after each copies the
/// tables once, though not the names and the limits in them.
///
/// ```
/// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
///
/// let config = MemoryConfig::new();
/// config.set(Scope::Prefix(""), "10/s".parse()?)?;
/// config.set(Scope::Key("bob"), "5/s".parse()?)?;
/// config.set(Scope::Key("alice"), "1000/h in 60".parse()?)?;
///
/// let snapshot = config.snapshot();
/// config.unset(Scope::Key("bob"))?;
/// let lines = snapshot.keys().map(|(key, limits)| format!("{key}: {limits}"));
/// assert_eq!(lines.collect::<Vec<_>>(), ["alice: 1000/h in 60", "bob: 5/s"]);
/// assert_eq!(snapshot.prefixes().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSnapshot(pub(crate) Arc<Tables>);

impl ConfigSnapshot {
    /// All keys that have limits of their own, in the order of their bytes. `len()` of the iterator
    /// says how many there are.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Key("alice"), "5/s".parse()?)?;
    /// assert_eq!(config.snapshot().keys().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (&str, &Limits)> {
        listed(&self.0.keys)
    }

    /// All prefixes that have limits, in the order of their bytes. `len()` of the iterator says how
    /// many there are.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix("user:"), "5/s".parse()?)?;
    /// let snapshot = config.snapshot();
    /// assert_eq!(snapshot.prefixes().next().unwrap().0, "user:");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn prefixes(&self) -> impl ExactSizeIterator<Item = (&str, &Limits)> {
        listed(&self.0.prefixes)
    }

    /// The changes that make this configuration of another one: none for a key or a prefix that has
    /// the same limits in both. So one store is made equal to another:
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    ///
    /// let (from, to) = (MemoryConfig::new(), MemoryConfig::new());
    /// from.set(Scope::Key("alice"), "5/s".parse()?)?;
    /// to.set(Scope::Key("bob"), "6/s".parse()?)?;
    ///
    /// to.apply(&from.snapshot().changes_from(&to.snapshot()))?;
    /// assert_eq!(to.snapshot(), from.snapshot());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn changes_from<'a>(&'a self, before: &'a ConfigSnapshot) -> Vec<Change<'a>> {
        let mut changes = changes(&self.0.prefixes, &before.0.prefixes, Scope::Prefix);
        changes.extend(self::changes(&self.0.keys, &before.0.keys, Scope::Key));
        changes
    }
}

fn listed(table: &Table) -> impl ExactSizeIterator<Item = (&str, &Limits)> {
    table.iter().map(|(name, limits)| (&**name, &**limits))
}

fn changes<'a>(
    after: &'a Table,
    before: &'a Table,
    scope: fn(&'a str) -> Scope<'a>,
) -> Vec<Change<'a>> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let new = after.iter().filter(|(name, limits)| before.get(*name) != Some(limits));
    let unset = gone.map(|name| Change::unset(scope(name)));
    let set =
        new.map(|(name, limits)| Change { scope: scope(name), limits: Some(Arc::clone(limits)) });
    unset.chain(set).collect()
}
