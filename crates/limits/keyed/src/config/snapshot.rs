//! Snapshots of a configuration and changes to it: limits by key, and defaults by prefix.

use crate::Limits;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The keys to which limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope<'a> {
    /// One key.
    Key(&'a str),
    /// All keys that begin with this prefix and have no limits of their own. If several prefixes match a key, the
    /// longest one applies. The empty prefix matches all keys.
    Prefix(&'a str),
}

/// One change of a configuration. [`ConfigStore::apply`](crate::ConfigStore::apply) makes several changes in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The keys whose limits change.
    pub scope: Scope<'a>,
    /// The new limits. `None` removes them.
    pub limits: Option<Arc<Limits>>,
}

impl<'a> Change<'a> {
    /// Creates a change that sets the limits of a key or a prefix.
    #[must_use]
    pub fn set(scope: Scope<'a>, limits: Limits) -> Change<'a> {
        Change { scope, limits: Some(Arc::new(limits)) }
    }

    /// Creates a change that removes the limits of a key or a prefix.
    #[must_use]
    pub fn unset(scope: Scope<'a>) -> Change<'a> {
        Change { scope, limits: None }
    }
}

/// A configuration at one moment: every key and every prefix with its limits, in order. A snapshot never changes.
///
/// [`ConfigStore::snapshot`](crate::ConfigStore::snapshot) takes a snapshot in constant time. The snapshot shares its
/// data with the store. While the snapshot exists, the first change of the store copies the tables, but not the names
/// and limits in them.
///
/// ```
/// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
///
/// let config = MemoryConfig::new();
/// config.set(Scope::Key("bob"), "5/s".parse()?)?;
/// config.set(Scope::Key("alice"), "1000/h in 60".parse()?)?;
///
/// let snapshot = config.snapshot();
/// config.unset(Scope::Key("bob"))?;
/// let lines = snapshot.keys().map(|(key, limits)| format!("{key}: {limits}"));
/// assert_eq!(lines.collect::<Vec<_>>(), ["alice: 1000/h in 60", "bob: 5/s"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSnapshot(pub(crate) Arc<Tables>);

impl ConfigSnapshot {
    /// Returns an iterator over the keys that have limits of their own, with their limits, in byte order.
    #[must_use]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (&str, &Limits)> {
        listed(&self.0.keys)
    }

    /// Returns an iterator over the prefixes that have limits, with their limits, in byte order.
    #[must_use]
    pub fn prefixes(&self) -> impl ExactSizeIterator<Item = (&str, &Limits)> {
        listed(&self.0.prefixes)
    }

    /// Returns the changes that turn `before` into this configuration. A key or prefix with the same limits in both
    /// needs no change. In this example, the changes make one store equal to another:
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

pub(crate) type Table = BTreeMap<Arc<str>, Arc<Limits>>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) keys: Table,
    pub(crate) prefixes: Table,
}

impl Tables {
    pub(crate) fn change(&mut self, change: &Change<'_>) -> bool {
        let (table, name) = match change.scope {
            Scope::Key(key) => (&mut self.keys, key),
            Scope::Prefix(prefix) => (&mut self.prefixes, prefix),
        };
        let before = match &change.limits {
            Some(limits) => table.insert(name.into(), Arc::clone(limits)),
            None => table.remove(name),
        };
        before.is_some()
    }

    pub(crate) fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.keys.get(key).or_else(|| self.defaults_of(key)).cloned()
    }

    /// Returns the limits of the longest entry that is a prefix of the key. After an entry that does not match, the
    /// search continues at the longest common prefix of this entry and the key.
    fn defaults_of(&self, key: &str) -> Option<&Arc<Limits>> {
        let mut upper = key;
        loop {
            let range = (Bound::Unbounded, Bound::Included(upper));
            let (prefix, limits) = self.prefixes.range::<str, _>(range).next_back()?;
            if key.starts_with(&**prefix) {
                return Some(limits);
            }
            upper = in_common(key, prefix);
        }
    }
}

fn in_common<'a>(text: &'a str, other: &str) -> &'a str {
    let same = text.chars().zip(other.chars()).take_while(|(one, another)| one == another);
    &text[..same.map(|(one, _)| one.len_utf8()).sum()]
}
