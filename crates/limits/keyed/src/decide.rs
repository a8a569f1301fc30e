//! Decides on requests by the limits of their keys, at moments of the caller's clock.

use crate::key_state::{KeyLimits, KeyState, NEVER, RecentLimits};
use crate::store::KeyStore;
use crate::{KeyRejected, LimitsOf};
use nanopace_limits::custom::{LimitsState, Receipt};
use nanopace_limits::{Costs, Limits};
use nanopace_nanos::Nanos;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct DecisionEngine<C, K, S> {
    config: C,
    recent: RecentLimits,
    store: KeyStore<K, S>,
}

impl<C, K: Hash + Eq, S: BuildHasher> DecisionEngine<C, K, S> {
    pub(crate) fn new(config: C, store: KeyStore<K, S>) -> DecisionEngine<C, K, S> {
        DecisionEngine { config, recent: RecentLimits::default(), store }
    }

    pub(crate) fn config(&self) -> &C {
        &self.config
    }

    pub(crate) fn store(&self) -> &KeyStore<K, S> {
        &self.store
    }

    pub(crate) fn step<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        decide: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.store.step(key, now, |key_state, at| {
            self.refresh(key_state, key, at)?;
            key_state
                .step(|limits, state| decide(limits, state, at))
                .ok_or(KeyRejected::NoLimits)?
        })
    }

    pub(crate) fn look<Q, T>(
        &self,
        key: &Q,
        now: impl Fn() -> Nanos,
        look: impl Fn(&Limits, &LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        C: LimitsOf<Q>,
    {
        self.store.look(key, now, |key_state, at| {
            self.refresh(key_state, key, at)?;
            key_state.look(|limits, state| look(limits, state, at)).ok_or(KeyRejected::NoLimits)?
        })
    }

    /// Corrects the cost of a request. If the key has been removed since the request, only the excess over the cost in
    /// the receipt is counted. Returns the key, or `None` if this call stored it.
    pub(crate) fn settle(
        &self,
        key: K,
        now: impl Fn() -> Nanos,
        receipt: &Receipt,
        actual: Costs<'_>,
    ) -> Option<K> {
        self.store.amend(key, now, |key_state, at| {
            if key_state.is_new() {
                key_state.follow(KeyLimits::new(Arc::clone(receipt.limits()), NEVER), at);
            }
            key_state.step(|limits, state| limits.settle(state, at, receipt, actual));
        })
    }

    #[inline]
    fn refresh<Q>(&self, key_state: &mut KeyState, key: &Q, now: Nanos) -> Result<(), KeyRejected>
    where
        Q: ?Sized,
        C: LimitsOf<Q>,
    {
        // The version is read before the limits: the next decision then sees a change that is made between the two
        // reads.
        let version = self.config.version_for(key);
        if key_state.is_current(version) {
            return Ok(());
        }
        self.look_up(key_state, key, version, now)
    }

    #[cold]
    fn look_up<Q>(
        &self,
        key_state: &mut KeyState,
        key: &Q,
        version: u64,
        now: Nanos,
    ) -> Result<(), KeyRejected>
    where
        Q: ?Sized,
        C: LimitsOf<Q>,
    {
        let limits = self.config.limits_for(key).ok_or(KeyRejected::NoLimits)?;
        key_state.follow(self.recent.get(limits, version), now);
        Ok(())
    }
}
