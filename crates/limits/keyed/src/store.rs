//! Stores the states of all keys in memory: shards, removal of idle keys, and the bound on the number of keys.

use crate::KeyRejected;
use crate::key_state::KeyState;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use crossbeam_utils::CachePadded;
use hashbrown::HashTable;
use nanopace_nanos::Nanos;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

/// The number of cells that each insertion of a key searches for idle keys. With this number, the whole table is
/// searched before the table could double, so idle keys stay fewer than active ones at a steady rate of insertions.
const CELLS_PER_INSERTION: usize = 8;
/// The number of cells searched for idle keys when [`WhenFull::EvictExpired`] needs room, or when settling a cost adds
/// a key.
const CELLS_FOR_ROOM: usize = 256;
/// The intended number of keys per shard in a full store: three quarters of a table of 2^15 cells, which grows when
/// seven eighths of the cells are full. With more shards, decisions miss the cache more often; with fewer shards, a
/// table is locked for longer while it is rehashed.
const KEYS_PER_SHARD: usize = 24_576;

/// Decides what happens to a new key when the number of keys is at its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// The new key is rejected. [`Keyed::sweep`](crate::Keyed::sweep) and the clean-up of each insertion make room.
    Reject,
    /// Up to 256 cells of the tables are searched for idle keys to remove, like a [`sweep`](crate::Keyed::sweep) of
    /// 256 cells. If none is found, the new key is rejected.
    #[default]
    EvictExpired,
}

/// Keys are spread by hash over shards, each with its own mutex. No operation locks more than one shard at a time.
///
/// A key is removed only after it has been idle for `lag`, so decisions at moments up to `lag` before the removal are
/// the same without its state. After the removal of a key that became idle at t, a decision in the same shard with a
/// moment before t counts as made at t. So nothing is admitted twice, however far the clock has been set back.
pub(crate) struct KeyStore<K, S> {
    hasher: S,
    shards: Box<[CachePadded<Mutex<Shard<K>>>]>,
    /// The number of keys. It is raised before an insertion, if it is less than `max_keys`, and lowered after a
    /// removal.
    keys: CachePadded<AtomicU64>,
    swept: AtomicU64,
    max_keys: u64,
    when_full: WhenFull,
    /// The minimum time for which an idle key is kept, in nanoseconds.
    lag: u64,
}

struct Shard<K> {
    entries: HashTable<Entry<K>>,
    hand: usize,
    /// The latest moment at which a removed key became idle.
    horizon: Nanos,
}

struct Entry<K> {
    key: K,
    state: KeyState,
}

impl<K: Hash + Eq, S: BuildHasher> KeyStore<K, S> {
    pub(crate) fn new(max_keys: usize, hasher: S, when_full: WhenFull, lag: Duration) -> Self {
        let shards = max_keys.div_ceil(KEYS_PER_SHARD).clamp(16, 1 << 12);
        KeyStore {
            hasher,
            shards: (0..shards).map(|_| CachePadded::new(Mutex::new(Shard::new()))).collect(),
            keys: CachePadded::new(AtomicU64::new(0)),
            swept: AtomicU64::new(0),
            max_keys: max_keys as u64,
            when_full,
            lag: u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn keys(&self) -> usize {
        // Relaxed: no insertion relies on this number, because `reserve` checks the bound itself. This number may be
        // outdated when it is returned, so there is no model.
        usize::try_from(self.keys.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Removes idle keys, and returns their number. With `usize::MAX` cells, checks every cell once, unless other
    /// sweeps run at the same time.
    pub(crate) fn sweep(&self, now: Nanos, mut cells: usize) -> usize {
        let mut removed = 0;
        for _ in 0..self.shards.len() {
            if cells == 0 {
                break;
            }
            // Relaxed: this number only spreads sweeps over the shards, so there is no model.
            let index = self.swept.fetch_add(1, Relaxed) % self.shards.len() as u64;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the index is below the number of shards"
            )]
            let mut shard = lock(&self.shards[index as usize]);
            let here = cells.min(shard.entries.num_buckets());
            cells -= here;
            removed += self.tidy(&mut shard, here, now);
        }
        removed
    }

    /// Locks the key's shard, calls `now`, and runs `step` at that moment, or at the shard's horizon if that is later.
    /// An idle state of a new key is not stored.
    pub(crate) fn step<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        step: impl Fn(&mut KeyState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let answer = self.step_once(key, &now, &step);
        let full = matches!(answer, Err(KeyRejected::TooManyKeys { .. }));
        let makes_room = full && self.when_full == WhenFull::EvictExpired;
        if makes_room && self.sweep(now(), CELLS_FOR_ROOM) > 0 {
            return self.step_once(key, &now, &step);
        }
        answer
    }

    fn step_once<Q, T>(
        &self,
        key: &Q,
        now: &impl Fn() -> Nanos,
        step: &impl Fn(&mut KeyState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let mut shard = lock(self.shard(hash));
        let now = now();
        let at = now.max(shard.horizon);
        if let Some(entry) = shard.entries.find_mut(hash, |entry| entry.key.borrow() == key) {
            return step(&mut entry.state, at);
        }
        let mut state = KeyState::default();
        let answer = step(&mut state, at)?;
        if !state.is_idle(at) {
            self.tidy(&mut shard, CELLS_PER_INSERTION, now);
            self.reserve()?;
            self.insert(&mut shard, hash, Entry { key: key.to_owned(), state });
        }
        Ok(answer)
    }

    fn insert(&self, shard: &mut Shard<K>, hash: u64, entry: Entry<K>) {
        shard.entries.insert_unique(hash, entry, |entry| self.hasher.hash_one(&entry.key));
    }

    pub(crate) fn look<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        step: impl Fn(&mut KeyState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let shard = lock(self.shard(hash));
        let at = now().max(shard.horizon);
        let known = shard.entries.find(hash, |entry| entry.key.borrow() == key);
        let mut state = known.map_or_else(KeyState::default, |entry| entry.state.clone());
        step(&mut state, at)
    }

    /// Changes the state of a key. The state of a new key is stored only if that state is not idle and the store has
    /// room. Returns `key`, or `None` if this call has moved the key into the store.
    pub(crate) fn amend(
        &self,
        key: K,
        now: impl Fn() -> Nanos,
        edit: impl FnOnce(&mut KeyState, Nanos),
    ) -> Option<K> {
        let hash = self.hasher.hash_one(&key);
        let mut shard = lock(self.shard(hash));
        let now = now();
        let at = now.max(shard.horizon);
        if let Some(entry) = shard.entries.find_mut(hash, |entry| entry.key == key) {
            edit(&mut entry.state, at);
            return Some(key);
        }
        let mut state = KeyState::default();
        edit(&mut state, at);
        if state.is_idle(at) {
            return Some(key);
        }
        self.tidy(&mut shard, CELLS_FOR_ROOM, now);
        if self.reserve().is_err() {
            return Some(key);
        }
        self.insert(&mut shard, hash, Entry { key, state });
        None
    }

    /// Returns the shard of a key. Uses the middle bits of the hash, because the shard's table uses the lowest and the
    /// highest bits.
    fn shard(&self, hash: u64) -> &Mutex<Shard<K>> {
        let share = (hash >> 20) & u64::from(u32::MAX);
        &self.shards[((share * self.shards.len() as u64) >> 32) as usize]
    }

    fn reserve(&self) -> Result<(), KeyRejected> {
        let one_more = |keys| (keys < self.max_keys).then_some(keys + 1);
        // Relaxed: the count publishes nothing, and the update succeeds only if the count still has the value that was
        // compared with the bound. Model: `keys_stay_within_their_bound`.
        let reserved = self.keys.fetch_update(Relaxed, Relaxed, one_more);
        reserved.map(drop).map_err(|_| self.too_many())
    }

    fn too_many(&self) -> KeyRejected {
        KeyRejected::TooManyKeys { max: self.max_keys }
    }

    fn tidy(&self, shard: &mut Shard<K>, cells: usize, now: Nanos) -> usize {
        let oldest = Nanos::from_nanos(now.as_nanos().saturating_sub(self.lag));
        let idle_from = |state: &KeyState| {
            Some(state.idle_from()).filter(|&from| from <= oldest && from < Nanos::MAX)
        };
        let mut removed = 0;
        for _ in 0..cells {
            if let Some(from) = shard.look_at_one(idle_from) {
                removed += 1;
                shard.horizon = shard.horizon.max(from);
            }
        }
        if removed > 0 {
            // Relaxed: as in `reserve`. The keys have already been removed. Model: `keys_stay_within_their_bound`.
            self.keys.fetch_sub(removed as u64, Relaxed);
            shard.shrink(|key| self.hasher.hash_one(key));
        }
        removed
    }
}

impl<K> Shard<K> {
    fn new() -> Shard<K> {
        Shard { entries: HashTable::new(), hand: 0, horizon: Nanos::ZERO }
    }

    fn look_at_one(&mut self, idle_from: impl Fn(&KeyState) -> Option<Nanos>) -> Option<Nanos> {
        self.hand = if self.hand + 1 < self.entries.num_buckets() { self.hand + 1 } else { 0 };
        let entry = self.entries.get_bucket_entry(self.hand).ok()?;
        let from = idle_from(&entry.get().state)?;
        entry.remove();
        Some(from)
    }

    /// Shrinks a table of which less than a quarter is in use to about twice its keys, so the amortized cost per
    /// removal is constant.
    fn shrink(&mut self, hash: impl Fn(&K) -> u64) {
        if self.entries.len() < self.entries.capacity() / 4 {
            let room = self.entries.len() * 2;
            self.entries.shrink_to(room, |entry| hash(&entry.key));
        }
    }
}

impl<K, S> fmt::Debug for KeyStore<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("KeyStore");
        fields.field("keys", &self.keys).field("max_keys", &self.max_keys);
        fields.field("when_full", &self.when_full).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::KeyStore;
    use crate::Keyed;
    use crate::sync::lock;
    use nanopace_nanos::{ManualClock, Nanos};
    use std::hash::RandomState;
    use std::time::Duration;

    const HOUR: u64 = 3_600_000_000_000;

    fn room(store: &KeyStore<u32, RandomState>) -> usize {
        store.shards.iter().map(|shard| lock(shard).entries.capacity()).sum()
    }

    #[test]
    fn tables_give_their_memory_back_when_their_keys_are_idle() {
        for active in [0, 1, 100, 2_000] {
            let (clock, hour) = (ManualClock::new(), Duration::from_nanos(HOUR));
            let keyed: Keyed<u32> =
                Keyed::per(1, hour).max_keys(10_000).clock(clock.clone()).build().unwrap();
            let store = keyed.store();
            assert!((0..10_000).all(|key| keyed.try_acquire(&key).is_ok()));
            assert!(room(store) >= 10_000);
            clock.set(Nanos::from_nanos(HOUR));
            assert!((0..active).all(|key| keyed.try_acquire(&key).is_ok()));
            store.sweep(Nanos::from_nanos(HOUR + HOUR / 2), usize::MAX);
            assert_eq!(store.keys(), active as usize);
            // At least a quarter of each table is in use, unless the table is one of the smallest.
            let most = 4 * store.keys() + 16 * 8;
            assert!(room(store) <= most, "{active}: {} of {most}", room(store));
            clock.set(Nanos::from_nanos(HOUR + 1));
            assert!((0..active).all(|key| keyed.try_acquire(&key).is_err()), "{active}");
        }
    }
}
