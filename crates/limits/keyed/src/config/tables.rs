//! Limits by key, and defaults by prefix.

use super::change::{Change, Scope};
use crate::Limits;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Limits by name, in the order of names. A copy shares all names and limits.
pub(crate) type Table = BTreeMap<Arc<str>, Arc<Limits>>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) keys: Table,
    pub(crate) prefixes: Table,
}

impl Tables {
    /// Whether there were any limits before.
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

    /// Those of the longest prefix. A prefix of the key that sorts before another text is no longer
    /// than what the key and that text have in common, so the search goes on from there.
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

/// What both texts begin with.
fn in_common<'a>(text: &'a str, other: &str) -> &'a str {
    let same = text.chars().zip(other.chars()).take_while(|(one, another)| one == another);
    &text[..same.map(|(one, _)| one.len_utf8()).sum()]
}
