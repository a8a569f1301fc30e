//! The request store: what was let in for each key, in memory.

use crate::KeyRejected;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use crossbeam_utils::CachePadded;
use hashbrown::HashTable;
use nanopace::Nanos;
use nanopace_limits::Rule;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::time::Duration;

/// Places that an insertion looks at in its shard for idle keys: so many that it has seen the whole
/// table before the table could double, and idle keys stay fewer than active ones.
const LOOKS_PER_INSERTION: usize = 8;
/// Places that a new key looks at for idle keys when there are as many keys as there may be.
const LOOKS_WHEN_FULL: usize = 256;
/// Keys per shard when the store is full: so few that rehashing a shard's table takes microseconds.
const KEYS_PER_SHARD: usize = 512;

/// What happens to a new key when there are as many keys as there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// It is rejected at once. Room comes from [`RequestStore::sweep`], or from what insertions
    /// before have cleaned up.
    Reject,
    /// Up to 256 places are looked at for idle keys to remove, going on where the last look ended.
    /// If there is none among them, it is rejected.
    #[default]
    EvictExpired,
}

/// A rule for each of many keys: what was let in is counted by key, in memory.
///
/// Keys are spread over shards by their hash, each a table behind a mutex of its own, so that
/// decisions on different keys seldom meet. A key takes memory from its first admission until it is
/// idle ([`Rule::is_idle`]) and a clean-up comes by: every insertion of a new key looks at eight
/// places, so memory follows the active keys without anybody's help, and
/// [`sweep`](RequestStore::sweep) does it while nothing is inserted. Nothing ever looks at more
/// than one shard under a lock.
///
/// **Removal never changes a decision.** A key is removed when every decision on it from `lag`
/// before now on is what it would be without it. A decision whose moment is older still, after such
/// a removal in its shard, counts as made at the removal's moment less `lag`: nothing is let in
/// twice, however long a thread slept between reading its clock and asking.
///
/// **The bound on keys is hard**: at no moment are there more than `max_keys`, whatever threads do.
///
/// * Memory per key: the key, the rule's state and one byte, on average 1.5 times because tables
///   grow by doubling, and at the worst 2.3 times. A key that was rejected at its first request
///   takes none.
/// * Cost per decision: a hash, a lock of a shard, and the rule's step; for a new key eight looks
///   more.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Gcra, Quota};
/// use nanopace_keyed::RequestStore;
///
/// let store = RequestStore::new(Gcra::new("3/60s".parse::<Quota>()?), 1_000_000);
/// let now = Nanos::from_nanos(1_000_000_000);
/// assert!(store.try_acquire_n_at("alice", 3, now).is_ok());
/// assert!(store.try_acquire_n_at("alice", 1, now).is_err());
/// assert!(store.try_acquire_n_at("bob", 1, now).is_ok());
/// assert_eq!(store.keys(), 2);
/// # let _: &RequestStore<String, _> = &store;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RequestStore<K, R: Rule, S = RandomState> {
    rule: R,
    hasher: S,
    shards: Shards<K, R::State>,
    /// Keys in all shards. Raised before an insertion, while it is less than `max_keys`; lowered
    /// after a removal.
    keys: CachePadded<AtomicU64>,
    /// Shards that sweeps have begun with.
    swept: AtomicU64,
    max_keys: u64,
    when_full: WhenFull,
    lag: u64,
}

type Shards<K, T> = Box<[CachePadded<Mutex<Shard<K, T>>>]>;

struct Shard<K, T> {
    entries: HashTable<Entry<K, T>>,
    /// The place that the next clean-up looks at first.
    hand: usize,
    /// Up to this moment keys may have been removed.
    horizon: Nanos,
}

struct Entry<K, T> {
    key: K,
    state: T,
}

impl<K: Hash + Eq, R: Rule> RequestStore<K, R> {
    /// A store without any key, of at most `max_keys` of them.
    ///
    /// New keys are hashed by [`RandomState`], against which nobody can choose keys that collide.
    #[must_use]
    pub fn new(rule: R, max_keys: usize) -> Self {
        Self::with_hasher(rule, max_keys, RandomState::new())
    }
}

impl<K: Hash + Eq, R: Rule, S: BuildHasher> RequestStore<K, R, S> {
    /// As [`new`](RequestStore::new), with another hash function.
    #[must_use]
    pub fn with_hasher(rule: R, max_keys: usize, hasher: S) -> Self {
        let shards = (max_keys / KEYS_PER_SHARD).clamp(16, 1 << 12).next_power_of_two();
        RequestStore {
            rule,
            hasher,
            shards: (0..shards).map(|_| CachePadded::new(Mutex::new(Shard::new()))).collect(),
            keys: CachePadded::new(AtomicU64::new(0)),
            swept: AtomicU64::new(0),
            max_keys: max_keys as u64,
            when_full: WhenFull::default(),
            lag: 1_000_000_000,
        }
    }

    /// What happens to a new key when there are as many keys as there may be;
    /// [`WhenFull::EvictExpired`] by default.
    #[must_use]
    pub fn when_full(self, when_full: WhenFull) -> Self {
        RequestStore { when_full, ..self }
    }

    /// How much older than the clean-up's moment a decision's may be so that it still finds all
    /// that it needs; one second by default. Idle keys stay for as long.
    #[must_use]
    pub fn lag(self, lag: Duration) -> Self {
        RequestStore { lag: u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX), ..self }
    }

    /// The rule that all keys follow.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// How many keys there are now, idle ones that were not removed yet included.
    pub fn keys(&self) -> usize {
        // Relaxed: who adds a key compares for itself, in `reserve`; this is an answer about a
        // moment that is over, so no model.
        usize::try_from(self.keys.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Lets `n` in for `key` at `now`, or says why not. Zero always gets in and counts as nothing.
    ///
    /// # Errors
    /// [`KeyRejected`]; nothing was counted then.
    pub fn try_acquire_n_at<Q>(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.decide(key, n, now, |_, _| Ok(()))
    }

    /// What [`try_acquire_n_at`](RequestStore::try_acquire_n_at) would answer; counts and removes
    /// nothing.
    ///
    /// # Errors
    /// [`KeyRejected`], as the request itself would get, except that a new key for which an idle one
    /// would be removed is rejected.
    pub fn check_n_at<Q>(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.look(key, n, now, |_, _| Ok(()))
    }

    /// Removes idle keys as of `now`, looking at no more than `looks` places, and going on where
    /// the last sweep ended.
    ///
    /// Returns how many were removed. `usize::MAX` looks at every place once. One lock at a time is
    /// held, for a shard at the longest. A table that has become four times too large gives its
    /// memory back.
    pub fn sweep(&self, now: Nanos, mut looks: usize) -> usize {
        let mut removed = 0;
        for _ in 0..self.shards.len() {
            if looks == 0 {
                break;
            }
            // Relaxed: spreads sweeps over the shards, no more; so no model.
            let mut shard = lock(self.shard(self.swept.fetch_add(1, Relaxed)));
            let here = looks.min(shard.entries.num_buckets());
            looks -= here;
            removed += self.tidy(&mut shard, here, now);
        }
        removed
    }

    /// The decision; `prepare` sees the key's state first, or a fresh one, and the moment that
    /// counts.
    pub(crate) fn decide<Q>(
        &self,
        key: &Q,
        n: u64,
        now: Nanos,
        prepare: impl Fn(&mut R::State, Nanos) -> Result<(), KeyRejected>,
    ) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let answer = self.decide_once(key, n, now, &prepare);
        let full = matches!(answer, Err(KeyRejected::TooManyKeys { .. }));
        if full && self.when_full == WhenFull::EvictExpired && self.sweep(now, LOOKS_WHEN_FULL) > 0
        {
            return self.decide_once(key, n, now, &prepare);
        }
        answer
    }

    fn decide_once<Q>(
        &self,
        key: &Q,
        n: u64,
        now: Nanos,
        prepare: &impl Fn(&mut R::State, Nanos) -> Result<(), KeyRejected>,
    ) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let mut shard = lock(self.shard(hash >> 32));
        let at = now.max(shard.horizon);
        if let Some(entry) = shard.entries.find_mut(hash, |entry| entry.key.borrow() == key) {
            prepare(&mut entry.state, at)?;
            return Ok(self.rule.decide(&mut entry.state, at, n)?);
        }
        let mut state = self.rule.fresh();
        prepare(&mut state, at)?;
        self.rule.decide(&mut state, at, n)?;
        if n > 0 {
            self.tidy(&mut shard, LOOKS_PER_INSERTION, now);
            self.reserve()?;
            let entry = Entry { key: key.to_owned(), state };
            shard.entries.insert_unique(hash, entry, |entry| self.hasher.hash_one(&entry.key));
        }
        Ok(())
    }

    /// The answer to a request that is not made.
    pub(crate) fn look<Q>(
        &self,
        key: &Q,
        n: u64,
        now: Nanos,
        prepare: impl Fn(&mut R::State, Nanos) -> Result<(), KeyRejected>,
    ) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let shard = lock(self.shard(hash >> 32));
        let at = now.max(shard.horizon);
        let known = shard.entries.find(hash, |entry| entry.key.borrow() == key);
        let mut state = known.map_or_else(|| self.rule.fresh(), |entry| entry.state.clone());
        prepare(&mut state, at)?;
        self.rule.advance(&mut state, at);
        self.rule.check(&state, at, n)?;
        if known.is_none() && n > 0 && self.keys() as u64 >= self.max_keys {
            Err(self.too_many())
        } else {
            Ok(())
        }
    }

    /// A shard by a number of any size.
    fn shard(&self, number: u64) -> &Mutex<Shard<K, R::State>> {
        #[expect(clippy::cast_possible_truncation, reason = "its low bits are what matters")]
        let index = number as usize & (self.shards.len() - 1);
        &self.shards[index]
    }

    /// Takes a place for one more key, if there is one.
    fn reserve(&self) -> Result<(), KeyRejected> {
        let one_more = |keys| (keys < self.max_keys).then_some(keys + 1);
        // Relaxed: the count publishes nothing; what counts is that it is raised from the value
        // that was compared with the bound. Model: `keys_stay_within_their_bound`.
        let reserved = self.keys.fetch_update(Relaxed, Relaxed, one_more);
        reserved.map(drop).map_err(|_| self.too_many())
    }

    fn too_many(&self) -> KeyRejected {
        KeyRejected::TooManyKeys { max: self.max_keys }
    }

    /// Removes the idle keys among the next `looks` places of the shard; returns how many.
    fn tidy(&self, shard: &mut Shard<K, R::State>, looks: usize, now: Nanos) -> usize {
        let oldest = Nanos::from_nanos(now.as_nanos().saturating_sub(self.lag));
        let removed = (0..looks)
            .filter(|_| shard.look_at_one(|state| self.rule.is_idle(state, oldest)))
            .count();
        if removed > 0 {
            // Relaxed: as in `reserve`; the keys are gone already. Model:
            // `keys_stay_within_their_bound`.
            self.keys.fetch_sub(removed as u64, Relaxed);
            shard.horizon = shard.horizon.max(oldest);
            shard.shrink(|key| self.hasher.hash_one(key));
        }
        removed
    }
}

impl<K, T> Shard<K, T> {
    fn new() -> Shard<K, T> {
        Shard { entries: HashTable::new(), hand: 0, horizon: Nanos::ZERO }
    }

    /// Looks at one place, and removes the key there if it is idle.
    fn look_at_one(&mut self, is_idle: impl Fn(&T) -> bool) -> bool {
        self.hand = if self.hand + 1 < self.entries.num_buckets() { self.hand + 1 } else { 0 };
        match self.entries.get_bucket_entry(self.hand) {
            Ok(entry) if is_idle(&entry.get().state) => {
                entry.remove();
                true
            }
            _ => false,
        }
    }

    /// Gives memory back when less than a quarter of it is in use: so rarely that it costs each
    /// removal a constant.
    fn shrink(&mut self, hash: impl Fn(&K) -> u64) {
        if self.entries.len() < self.entries.capacity() / 4 {
            let room = self.entries.len() * 2;
            self.entries.shrink_to(room, |entry| hash(&entry.key));
        }
    }
}

impl<K, R: Rule, S> fmt::Debug for RequestStore<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("RequestStore");
        fields
            .field("rule", &self.rule)
            .field("keys", &self.keys)
            .field("max_keys", &self.max_keys);
        fields.field("when_full", &self.when_full).finish_non_exhaustive()
    }
}
