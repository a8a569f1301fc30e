//! Which limits have changed, told by numbers.

use super::change::{Change, Scope};
use crate::sync::{AtomicU64, Relaxed};
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// Counters that keys share by their hash. A change of one key makes the keys that share its counter
/// look their limits up once. A model has one, because its executions must not depend on the hash.
const COUNTERS: usize = if cfg!(loom) { 1 } else { 1024 };

/// A counter of all changes of defaults, and [`COUNTERS`] of changes of keys.
#[derive(Debug)]
pub(crate) struct Versions {
    prefixes: AtomicU64,
    keys: [AtomicU64; COUNTERS],
    hasher: RandomState,
}

impl Versions {
    pub(crate) fn new() -> Versions {
        Versions {
            prefixes: AtomicU64::new(0),
            keys: std::array::from_fn(|_| AtomicU64::new(0)),
            hasher: RandomState::default(),
        }
    }

    /// A number that is different after each change of the key's own limits or of any defaults.
    ///
    /// It is the sum of two counters that only rise. So it is the same only if both are.
    pub(crate) fn of(&self, key: &str) -> u64 {
        // Relaxed: as in `raise`. Model: `a_change_is_seen_by_every_later_decision`.
        self.prefixes.load(Relaxed).wrapping_add(self.counter(key).load(Relaxed))
    }

    /// The caller has the tables locked, and has made all of its changes.
    pub(crate) fn raise(&self, changes: &[Change<'_>]) {
        for change in changes {
            let counter = match change.scope {
                Scope::Key(key) => self.counter(key),
                Scope::Prefix(_) => &self.prefixes,
            };
            // Relaxed: written with the tables locked, after they were changed. A decision that
            // reads this number and then locks the tables locks them after this. Otherwise it would
            // have read a number that is written later. Models:
            // `a_change_is_seen_by_every_later_decision`, `a_batch_is_seen_as_a_whole`.
            counter.fetch_add(1, Relaxed);
        }
    }

    fn counter(&self, key: &str) -> &AtomicU64 {
        let [low, high, ..] = self.hasher.hash_one(key).to_le_bytes();
        &self.keys[usize::from(u16::from_le_bytes([low, high])) % COUNTERS]
    }
}
