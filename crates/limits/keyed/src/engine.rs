//! The decision engine: it applies the limits of a key to what was counted for it.

use crate::sync::{Mutex, lock};
use crate::{KeyRejected, LimitsOf, RequestStore};
use nanopace_limits::internal::{LimitsState, Receipt};
use nanopace_limits::{Costs, Limits, Rejected, Rule};
use nanopace_nanos::Nanos;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

/// Decides by each key's own limits, at moments that the caller names. A [`LimitsOf`] keys, such as
/// a [`ConfigStore`](crate::ConfigStore), has the limits, and a [`RequestStore`] has what was counted.
/// [`Keyed`](crate::Keyed) is the same with a clock.
///
/// The engine looks a key's limits up at the key's first request, and again at the first one after
/// a change of the configuration. Otherwise a decision finds them in the key's entry. When they
/// have changed, what was counted stays counted, as [`Limits`] say.
///
/// A key without limits is rejected ([`KeyRejected::NoLimits`]). To give limits to all keys, set
/// defaults for the empty prefix.
///
/// # Cost
///
/// * Memory per key: the key and 16 bytes. A key with limits of its own takes 48 more, and so does one
///   whose limits remember more than a word. Several limits take another 48 bytes and 16 for each, and
///   a log or an aggregated window takes what it takes by itself. Limits that are no longer in force
///   take memory while they count.
/// * A decision takes what the [`RequestStore`] takes, the configuration's version (two loads and a
///   hash of the key), and the steps of the rules.
#[derive(Debug)]
pub struct DecisionEngine<C, K = String, S = RandomState> {
    config: C,
    latest: Latest,
    requests: RequestStore<K, PerKey, S>,
}

/// The rule by which each state brings its own limits along. Only [`DecisionEngine`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct PerKey(());

/// A key's limits, and what they remember; no limits until they are looked up.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    found: Option<Arc<Found>>,
    /// All that one limit of one word remembers.
    word: u64,
}

/// Limits as they were found: keys for which the same was found share it.
#[derive(Clone, Debug)]
struct Found {
    limits: Arc<Limits>,
    /// The version of the key's limits, read before they were looked up.
    version: u64,
    /// What they remember for a key, if that has become more than a word. Then no other key has this.
    own: Option<LimitsState>,
}

/// What was found lately, by the address of the limits, which stays theirs meanwhile, and the version.
#[derive(Debug, Default)]
struct Latest(Mutex<HashMap<(usize, u64), Arc<Found>>>);

impl<C, K: Hash + Eq> DecisionEngine<C, K> {
    /// Decides by `config`, for at most `max_keys` keys at a time.
    #[must_use]
    pub fn new(config: C, max_keys: usize) -> DecisionEngine<C, K> {
        DecisionEngine::with_hasher(config, max_keys, RandomState::new())
    }
}

impl<C, K: Hash + Eq, S: BuildHasher> DecisionEngine<C, K, S> {
    /// The same as [`new`](DecisionEngine::new), with another hash function.
    #[must_use]
    pub fn with_hasher(config: C, max_keys: usize, hasher: S) -> DecisionEngine<C, K, S> {
        let requests = RequestStore::with_hasher(PerKey(()), max_keys, hasher);
        DecisionEngine { config, latest: Latest::default(), requests }
    }

    /// The same engine with a request store that `tune` has given another policy or lag.
    #[must_use]
    pub fn tuned(
        self,
        tune: impl FnOnce(RequestStore<K, PerKey, S>) -> RequestStore<K, PerKey, S>,
    ) -> DecisionEngine<C, K, S> {
        DecisionEngine { requests: tune(self.requests), ..self }
    }

    /// The limits of each key. They can be changed at any time. A change takes effect at the key's
    /// next decision.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// The store of what was counted.
    pub fn requests(&self) -> &RequestStore<K, PerKey, S> {
        &self.requests
    }

    /// Lets one request in for `key` at `now`, or says why not.
    ///
    /// # Errors
    /// [`KeyRejected`]. Nothing is counted then.
    pub fn try_acquire_at<Q>(&self, key: &Q, now: Nanos) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.try_acquire_n_at(key, 1, now)
    }

    /// Lets `n` in for `key` at `now`, or says why not: all of them or none. Zero gets in for every
    /// key that has limits, and counts as nothing.
    ///
    /// # Errors
    /// [`KeyRejected`]. Nothing is counted then.
    pub fn try_acquire_n_at<Q>(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.step(key, || now, |limits, state, at| Ok(limits.try_acquire(state, at, n)?))
    }

    /// Returns what [`try_acquire_n_at`](DecisionEngine::try_acquire_n_at) would answer. Counts and
    /// removes nothing.
    ///
    /// # Errors
    /// As for [`RequestStore::peek_n_at`].
    pub fn peek_n_at<Q>(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        C: LimitsOf<Q>,
    {
        let look = |limits: &Limits, state: &LimitsState, at| Ok(limits.peek(state, at, n)?);
        match self.look(key, || now, look)? {
            ((), false) if n > 0 => self.requests.has_room(),
            _ => Ok(()),
        }
    }

    /// A step on what the key's limits have counted, at the moment that `now` shows.
    pub(crate) fn step<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.requests.step(key, now, |_, tally, at| {
            self.refresh(tally, key, at)?;
            tally.step(|limits, state| step(limits, state, at)).ok_or(KeyRejected::NoLimits)?
        })
    }

    /// A step that changes nothing; says whether the key is known.
    pub(crate) fn look<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        look: impl Fn(&Limits, &LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<(T, bool), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        C: LimitsOf<Q>,
    {
        self.requests.look(key, now, |_, tally, at| {
            self.refresh(tally, key, at)?;
            tally.look(|limits, state| look(limits, state, at)).ok_or(KeyRejected::NoLimits)?
        })
    }

    /// Counts `actual` for a request that has been counted, instead of what its receipt says. A key
    /// that was removed meanwhile begins anew, with what it has cost beyond that; otherwise it is given
    /// back.
    pub(crate) fn settle(
        &self,
        key: K,
        now: impl Fn() -> Nanos,
        receipt: &Receipt,
        actual: Costs<'_>,
    ) -> Option<K> {
        self.requests.amend(key, now, |tally, at| {
            if tally.found.is_none() {
                tally.follow(Found::new(Arc::clone(receipt.limits()), NEVER), at);
            }
            tally.step(|limits, state| limits.settle(state, at, receipt, actual));
        })
    }

    /// Looks the limits up, unless the tally has them as they are now.
    #[inline]
    fn refresh<Q>(&self, tally: &mut Tally, key: &Q, now: Nanos) -> Result<(), KeyRejected>
    where
        Q: ?Sized,
        C: LimitsOf<Q>,
    {
        // Asked before the limits: a change between the two is then seen next time.
        let version = self.config.version_for(key);
        match &tally.found {
            Some(found) if found.version == version => Ok(()),
            _ => self.look_up(tally, key, version, now),
        }
    }

    #[cold]
    fn look_up<Q>(
        &self,
        tally: &mut Tally,
        key: &Q,
        version: u64,
        now: Nanos,
    ) -> Result<(), KeyRejected>
    where
        Q: ?Sized,
        C: LimitsOf<Q>,
    {
        let limits = self.config.limits_for(key).ok_or(KeyRejected::NoLimits)?;
        tally.follow(self.latest.found(limits, version), now);
        Ok(())
    }
}

/// The version of no configuration: the limits are looked up at the next decision.
const NEVER: u64 = u64::MAX;

impl Tally {
    /// A step on what the limits remember; none without limits.
    #[inline]
    fn step<T>(&mut self, step: impl FnOnce(&Arc<Limits>, &mut LimitsState) -> T) -> Option<T> {
        let found = self.found.as_mut()?;
        let mut of_word = LimitsState::of_word(self.word);
        let is_own = found.own.is_some();
        let (limits, state) = if is_own {
            let Found { limits, own, .. } = Arc::make_mut(found);
            (&*limits, own.as_mut()?)
        } else {
            (&found.limits, &mut of_word)
        };
        let answer = step(limits, state);
        match of_word.into_word() {
            _ if is_own => (),
            Ok(word) => self.word = word,
            Err(state) => Arc::make_mut(found).own = Some(state),
        }
        Some(answer)
    }

    /// A look at what the limits remember; none without limits.
    fn look<T>(&self, look: impl FnOnce(&Limits, &LimitsState) -> T) -> Option<T> {
        let found = self.found.as_ref()?;
        Some(match &found.own {
            None => look(&found.limits, &LimitsState::of_word(self.word)),
            Some(state) => look(&found.limits, state),
        })
    }

    /// Goes on by what was found now.
    fn follow(&mut self, found: Arc<Found>, now: Nanos) {
        let carried = self.step(|old, state| {
            if *old != found.limits {
                old.advance(state, now);
                *state = found.limits.carry(old, state, now);
            }
            state.clone()
        });
        let carried = carried.unwrap_or_else(|| found.limits.fresh());
        self.found = Some(found);
        self.step(|_, state| *state = carried);
    }
}

impl Found {
    fn new(limits: Arc<Limits>, version: u64) -> Arc<Found> {
        Arc::new(Found { limits, version, own: None })
    }
}

impl Latest {
    /// Of how many the memory is kept for sharing. Then all are forgotten, and found again.
    const MOST: usize = 1_024;

    /// The limits of that version: the same again, if they were found before.
    fn found(&self, limits: Arc<Limits>, version: u64) -> Arc<Found> {
        let mut latest = lock(&self.0);
        if latest.len() == Self::MOST {
            latest.clear();
        }
        let place = (Arc::as_ptr(&limits).addr(), version);
        Arc::clone(latest.entry(place).or_insert_with(|| Found::new(limits, version)))
    }
}

impl Rule for PerKey {
    type State = Tally;

    fn fresh(&self) -> Tally {
        Tally::default()
    }

    /// Each tally knows its own limits, so the rule has no bound.
    fn most(&self) -> u64 {
        u64::MAX
    }

    fn advance(&self, tally: &mut Tally, now: Nanos) {
        tally.step(|limits, state| limits.advance(state, now));
    }

    fn peek(&self, tally: &Tally, now: Nanos, n: u64) -> Result<(), Rejected> {
        tally.look(|limits, state| limits.peek(state, now, n)).unwrap_or(Ok(()))
    }

    fn debit(&self, tally: &mut Tally, now: Nanos, n: u64) {
        tally.step(|limits, state| limits.debit(state, now, n));
    }

    fn idle_from(&self, tally: &Tally) -> Nanos {
        tally.look(Limits::idle_from).unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the docs of [`DecisionEngine`] say.
    #[test]
    fn a_key_takes_what_is_said() {
        assert_eq!(size_of::<Tally>(), 16);
        assert_eq!(size_of::<LimitsState>(), 16);
        assert_eq!(size_of::<Found>() + 2 * size_of::<usize>(), 48);
    }

    #[test]
    fn what_was_found_lately_is_shared() {
        let (latest, limits) = (Latest::default(), Arc::new("1/s".parse::<Limits>().unwrap()));
        let found = |version| latest.found(Arc::clone(&limits), version);
        let first = found(0);
        assert!(Arc::ptr_eq(&first, &found(0)));
        assert_eq!(found(1).version, 1);
        assert!((2..5_000).all(|version| found(version).version == version));
        assert!(lock(&latest.0).len() <= Latest::MOST);
    }
}
