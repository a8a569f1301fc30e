//! The decision engine: it applies the limits of a key to what was counted for it.

use crate::sync::{Mutex, lock};
use crate::{KeyRejected, LimitsOf, RequestStore};
use nanopace::Nanos;
use nanopace_limits::internal::{LimitsState, Receipt};
use nanopace_limits::{Costs, Limits, Rejected, Rule};
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
/// * Memory per key: the key and 24 bytes. A key with limits of its own takes 32 more. Several limits take
///   48 bytes more and 16 for each, and a log or an aggregated window takes what it takes by itself.
///   Limits that are no longer in force take memory while they count.
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

/// A key's limits, and what they remember; none until they are looked up.
#[derive(Clone, Debug, Default)]
pub struct Tally(Option<Followed>);

/// The limits that a key's tally goes by, and what they have counted.
#[derive(Clone, Debug)]
struct Followed {
    found: Arc<Found>,
    state: LimitsState,
}

/// Limits as they were found: keys for which the same was found share it.
#[derive(Debug)]
struct Found {
    limits: Arc<Limits>,
    /// The version of the key's limits, read before they were looked up.
    version: u64,
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
            let Followed { found, state } = self.followed(tally, key, at)?;
            step(&found.limits, state, at)
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
            let Followed { found, state } = self.followed(tally, key, at)?;
            look(&found.limits, state, at)
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
            let Followed { found, state } =
                tally.0.get_or_insert_with(|| Followed::anew(receipt.limits()));
            found.limits.settle(state, at, receipt, actual);
        })
    }

    /// What the tally follows: the key's limits as they are now.
    #[inline]
    fn followed<'t, Q>(
        &self,
        tally: &'t mut Tally,
        key: &Q,
        now: Nanos,
    ) -> Result<&'t mut Followed, KeyRejected>
    where
        Q: ?Sized,
        C: LimitsOf<Q>,
    {
        // Asked before the limits: a change between the two is then seen next time.
        let version = self.config.version_for(key);
        if tally.0.as_ref().is_none_or(|followed| followed.found.version != version) {
            self.look_up(tally, key, version, now)?;
        }
        tally.0.as_mut().ok_or(KeyRejected::NoLimits)
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
        let found = self.latest.found(limits, version);
        tally.0 = Some(Followed::after(tally.0.take(), found, now));
        Ok(())
    }
}

/// The version of no configuration: the limits are looked up at the next decision.
const NEVER: u64 = u64::MAX;

impl Followed {
    fn anew(limits: &Arc<Limits>) -> Followed {
        let found = Arc::new(Found { limits: Arc::clone(limits), version: NEVER });
        Followed { found, state: limits.fresh() }
    }

    /// Goes on by what was found now from what was followed before.
    fn after(old: Option<Followed>, found: Arc<Found>, now: Nanos) -> Followed {
        let limits = &found.limits;
        let state = match old {
            None => limits.fresh(),
            Some(old) if *old.found.limits == **limits => old.state,
            Some(Followed { found: old, mut state }) => {
                old.limits.advance(&mut state, now);
                limits.carry(&old.limits, &state, now)
            }
        };
        Followed { found, state }
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
        let found = || Arc::new(Found { limits, version });
        Arc::clone(latest.entry(place).or_insert_with(found))
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
        if let Some(Followed { found, state }) = &mut tally.0 {
            found.limits.advance(state, now);
        }
    }

    fn peek(&self, tally: &Tally, now: Nanos, n: u64) -> Result<(), Rejected> {
        let followed = tally.0.as_ref();
        followed.map_or(Ok(()), |followed| followed.found.limits.peek(&followed.state, now, n))
    }

    fn debit(&self, tally: &mut Tally, now: Nanos, n: u64) {
        if let Some(Followed { found, state }) = &mut tally.0 {
            found.limits.debit(state, now, n);
        }
    }

    fn idle_from(&self, tally: &Tally) -> Nanos {
        let followed = tally.0.as_ref();
        followed.map_or(Nanos::ZERO, |followed| followed.found.limits.idle_from(&followed.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the docs of [`DecisionEngine`] say.
    #[test]
    fn a_key_takes_what_is_said() {
        assert_eq!(size_of::<Tally>(), 24);
        assert_eq!(size_of::<LimitsState>(), 16);
        assert_eq!(size_of::<Found>() + 2 * size_of::<usize>(), 32);
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
