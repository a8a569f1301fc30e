//! The decision engine: it applies the limits of a key to what was counted for it.

use crate::{KeyRejected, LimitsOf, RequestStore};
use nanopace::Nanos;
use nanopace_limits::internal::{LimitsState, Receipt};
use nanopace_limits::{Costs, Limits, Rejected, Rule};
use std::borrow::Borrow;
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
/// * Memory per key: the key and 32 bytes. Several limits take 48 bytes more and 16 for each, and a
///   log or an aggregated window takes what it takes by itself. Limits that are no longer in force
///   take memory while they count.
/// * A decision takes what the [`RequestStore`] takes, the configuration's version (two loads and a
///   hash of the key), and the steps of the rules.
#[derive(Debug)]
pub struct DecisionEngine<C, K = String, S = RandomState> {
    config: C,
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
    limits: Arc<Limits>,
    /// The version of the key's limits, read before they were looked up.
    version: u64,
    state: LimitsState,
}

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
        DecisionEngine { config, requests }
    }

    /// The same engine with a request store that `tune` has given another policy or lag.
    #[must_use]
    pub fn tuned(
        self,
        tune: impl FnOnce(RequestStore<K, PerKey, S>) -> RequestStore<K, PerKey, S>,
    ) -> DecisionEngine<C, K, S> {
        DecisionEngine { config: self.config, requests: tune(self.requests) }
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
            let Followed { limits, state, .. } = self.followed(tally, key, at)?;
            step(limits, state, at)
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
            let Followed { limits, state, .. } = self.followed(tally, key, at)?;
            look(limits, state, at)
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
            let Followed { limits, state, .. } =
                tally.0.get_or_insert_with(|| Followed::anew(receipt.limits()));
            limits.settle(state, at, receipt, actual);
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
        match &mut tally.0 {
            Some(followed) if followed.version == version => (),
            old => {
                let limits = self.config.limits_for(key).ok_or(KeyRejected::NoLimits)?;
                *old = Some(Followed::after(old.take(), limits, version, now));
            }
        }
        tally.0.as_mut().ok_or(KeyRejected::NoLimits)
    }
}

/// The version of no configuration: the limits are looked up at the next decision.
const NEVER: u64 = u64::MAX;

impl Followed {
    fn anew(limits: &Arc<Limits>) -> Followed {
        Followed { limits: Arc::clone(limits), version: NEVER, state: limits.fresh() }
    }

    /// Goes on by `limits` from what was followed before.
    fn after(old: Option<Followed>, limits: Arc<Limits>, version: u64, now: Nanos) -> Followed {
        let state = match old {
            None => limits.fresh(),
            Some(old) if *old.limits == *limits => old.state,
            Some(Followed { limits: old, mut state, .. }) => {
                old.advance(&mut state, now);
                limits.carry(&old, &state, now)
            }
        };
        Followed { limits, version, state }
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
        if let Some(Followed { limits, state, .. }) = &mut tally.0 {
            limits.advance(state, now);
        }
    }

    fn peek(&self, tally: &Tally, now: Nanos, n: u64) -> Result<(), Rejected> {
        tally.0.as_ref().map_or(Ok(()), |followed| followed.limits.peek(&followed.state, now, n))
    }

    fn debit(&self, tally: &mut Tally, now: Nanos, n: u64) {
        if let Some(Followed { limits, state, .. }) = &mut tally.0 {
            limits.debit(state, now, n);
        }
    }

    fn idle_from(&self, tally: &Tally) -> Nanos {
        let followed = tally.0.as_ref();
        followed.map_or(Nanos::ZERO, |followed| followed.limits.idle_from(&followed.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the docs of [`DecisionEngine`] say.
    #[test]
    fn a_key_takes_what_is_said() {
        assert_eq!(size_of::<Tally>(), 32);
        assert_eq!(size_of::<LimitsState>(), 16);
    }
}
