//! The main interface: limits by key that own their clock and are shared by their clones.

use crate::decide::DecisionEngine;
use crate::store::{KeyStore, WhenFull};
use crate::{KeyRejected, LimitsOf, Uniform};
use nanopace_limits::custom::{LimitsState, Meter, Receipt, WaitQueue};
use nanopace_limits::{Costs, Decision, Limits, Rejected, Rule, Standing};
use nanopace_nanos::{Clock, Nanos, TscClock};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const MAX_KEYS: usize = 1 << 20;

pub(crate) const LAG: Duration = Duration::from_secs(1);

/// Limits requests by key, and reads the time from a clock. Clones share the limits and their counts.
///
/// All keys have the same limits ([`Uniform`]), which can be changed, or each key has its own ([`LimitsOf`],
/// [`ConfigStore`](crate::ConfigStore)): see [`builder`](Keyed::builder).
///
/// # Time
///
/// A decision reads the clock while it holds the key's lock, so the decisions on a key are made in the order of their
/// clock readings. A limit therefore holds in every span of time on that clock, however the threads are scheduled.
///
/// # Keys
///
/// A key's limits are looked up at its first request, and again after a change of the configuration. If neither a key
/// nor a prefix of it has limits, its requests are rejected ([`NoLimits`](crate::KeyRejected::NoLimits)). The empty
/// prefix is a prefix of every key.
///
/// A key takes memory from its first counted request until a clean-up finds that it has been idle for
/// [`lag`](crate::KeyedBuilder::lag). The insertion of a new key checks eight cells of a table and removes the idle
/// keys in them. At a steady rate of insertions, memory is therefore proportional to the number of active keys.
/// Removing an idle key changes a decision only if the clock goes back by more than `lag`. There are never more keys
/// than [`max_keys`](crate::KeyedBuilder::max_keys).
///
/// # Cost
///
/// * Memory: each key takes its own size, rounded up to a multiple of 8 bytes, plus 17 bytes, multiplied by 1.5 on
///   average because tables grow by doubling. A key with limits of its own, or whose limits have a state of more than a
///   word, takes 48 more bytes. Several limits take another 48 bytes, and 16 bytes for each limit. Logs, sliding
///   counters and aggregated windows take memory in addition.
/// * A decision takes one hash of the key (a [`ConfigStore`](crate::ConfigStore) adds a second one), the lock of the
///   key's shard (one of 43 by default), and the steps of the rules.
///
/// # Waiting
///
/// Requests that [wait](Keyed::wait) for the same key form a FIFO queue. By default, requests for the key that cost
/// something and do not wait are rejected while the queue is not empty (see [`fair`](Keyed::fair)).
#[derive(Debug)]
pub struct Keyed<K = String, C = Uniform, S = RandomState> {
    inner: Arc<Inner<K, C, S>>,
    meter: Meter,
    is_fair: bool,
}

#[derive(Debug)]
struct Inner<K, C, S> {
    engine: DecisionEngine<C, K, S>,
    clock: Box<dyn Clock>,
    queue: WaitQueue<K>,
}

impl<K, C, S> Clone for Keyed<K, C, S> {
    fn clone(&self) -> Self {
        let Keyed { inner, meter, is_fair } = self;
        Keyed { inner: Arc::clone(inner), meter: meter.clone(), is_fair: *is_fair }
    }
}

impl<K: Hash + Eq> Keyed<K> {
    /// Creates limits that are the same for each key.
    #[must_use]
    pub fn new(limits: Limits) -> Keyed<K> {
        let store = KeyStore::new(MAX_KEYS, RandomState::new(), WhenFull::default(), LAG);
        let engine = DecisionEngine::new(Uniform::new(limits), store);
        Keyed::from_parts(engine, Box::new(TscClock::new()))
    }
}

impl<K: Hash + Eq, S: BuildHasher> Keyed<K, Uniform, S> {
    /// Changes the limits of all keys. Earlier admissions stay counted, as described for [`Limits`].
    pub fn set_limits(&self, limits: Limits) {
        self.inner.engine.config().set(limits);
        self.inner.queue.wake_all_first();
    }
}

impl<K: Hash + Eq, C, S: BuildHasher> Keyed<K, C, S> {
    /// Gives this handle a name, under which the decisions on all keys are counted together, as for `Limiter::named`.
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    #[must_use]
    pub fn named(self, name: &str) -> Keyed<K, C, S> {
        self.with_meter(Meter::named(name))
    }

    /// Sets whether requests that do not wait yield to those that wait for the same key, as
    /// [`Limiter::fair`](nanopace_limits::Limiter::fair) does. The setting applies to the returned handle only, not to
    /// other clones.
    #[must_use]
    pub fn fair(self, fair: bool) -> Keyed<K, C, S> {
        Keyed { is_fair: fair, ..self }
    }

    pub(crate) fn from_parts(
        engine: DecisionEngine<C, K, S>,
        clock: Box<dyn Clock>,
    ) -> Keyed<K, C, S> {
        let inner = Arc::new(Inner { engine, clock, queue: WaitQueue::new() });
        Keyed { inner, meter: Meter::default(), is_fair: true }
    }

    pub(crate) fn with_meter(self, meter: Meter) -> Keyed<K, C, S> {
        Keyed { meter, ..self }
    }

    /// Returns the configuration of each key's limits. A change takes effect at the key's next decision.
    #[must_use]
    pub fn config(&self) -> &C {
        self.inner.engine.config()
    }

    /// Returns the number of keys, including idle keys that have not been removed yet.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.inner.engine.store().keys()
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &KeyStore<K, S> {
        self.inner.engine.store()
    }

    /// Removes keys that have been idle for [`lag`](crate::KeyedBuilder::lag). Checks at most `cells` cells of the
    /// tables, and returns the number of removed keys. Insertions of new keys remove idle keys, too, so a program that
    /// inserts keys need not call this method.
    #[expect(clippy::must_use_candidate, reason = "callers may ignore the number of keys")]
    pub fn sweep(&self, cells: usize) -> usize {
        self.inner.engine.store().sweep(self.clock().now(), cells)
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn queue(&self) -> &WaitQueue<K> {
        &self.inner.queue
    }

    /// Admits one request for `key` now, or rejects it.
    ///
    /// # Errors
    /// Returns [`KeyRejected`] if the request is rejected. In that case, only limits that count rejected requests count
    /// it.
    pub fn try_acquire<Q>(&self, key: &Q) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.try_acquire_same(key, 1)
    }

    /// Admits a request for `key` with costs now, or rejects it. The request has the same cost for all limits
    /// (`5`), or one cost for each limit, in the order of the limits (`&[1, 4_000]`). An admitted request is counted by
    /// all limits.
    ///
    /// # Errors
    /// Returns the errors of [`try_acquire`](Keyed::try_acquire), and [`KeyRejected::Costs`] for a wrong number of
    /// costs.
    pub fn try_acquire_costs<'a, Q>(
        &self,
        key: &Q,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        match costs.into() {
            Costs::Same(n) => self.try_acquire_same(key, n),
            costs @ Costs::Each(_) => self.answer(key, costs, |limits, state, at| {
                Ok(limits.try_acquire_costs(state, at, costs)?)
            }),
        }
    }

    fn try_acquire_same<Q>(&self, key: &Q, n: u64) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.answer(key, Costs::Same(n), |limits, state, at| Ok(limits.try_acquire(state, at, n)?))
    }

    /// Admits or rejects one request for `key`. The returned [`Decision`] includes the number of remaining requests.
    ///
    /// # Errors
    /// Returns [`KeyRejected::TooManyKeys`] if the key is new and the number of keys is at its maximum, and
    /// [`KeyRejected::NoLimits`] if the key has no limits. A rejection by the limits is not an error, but a
    /// [`Decision`].
    pub fn decide<Q>(&self, key: &Q) -> Result<Decision, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.decide_costs(key, 1)
    }

    /// Admits or rejects a request for `key` with costs, as [`try_acquire_costs`](Keyed::try_acquire_costs) does. The
    /// returned [`Decision`] includes the number of remaining requests.
    ///
    /// # Errors
    /// Returns the errors of [`decide`](Keyed::decide), and [`KeyRejected::Costs`] for a wrong number of costs.
    pub fn decide_costs<'a, Q>(
        &self,
        key: &Q,
        costs: impl Into<Costs<'a>>,
    ) -> Result<Decision, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let costs = costs.into();
        let decision = self.step(key, |limits, state, at| {
            match self.yield_to_waiters(key, limits, state, at, costs) {
                Ok(()) => Ok(limits.decide_costs(state, at, costs)?),
                Err(rejected) => Ok(limits.decide_queued(state, at, rejected)),
            }
        });
        self.meter.answered(decision.as_ref().is_ok_and(Decision::is_allowed));
        decision
    }

    /// Returns the standing of the key's limit with the fewest remaining requests. This call counts nothing.
    ///
    /// # Errors
    /// Returns [`KeyRejected::NoLimits`] if the key has no limits.
    pub fn standing<Q>(&self, key: &Q) -> Result<Standing, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        C: LimitsOf<Q>,
    {
        let look = |limits: &Limits, state: &_, at| Ok(limits.tightest(state, at).1);
        self.inner.engine.look(key, || self.clock().now(), look)
    }

    pub(crate) fn answer<Q, T>(
        &self,
        key: &Q,
        costs: Costs<'_>,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let answer = self.step(key, |limits, state, at| {
            self.yield_to_waiters(key, limits, state, at, costs)?;
            step(limits, state, at)
        });
        self.meter.answered(answer.is_ok());
        answer
    }

    #[inline]
    fn yield_to_waiters<Q>(
        &self,
        key: &Q,
        limits: &Limits,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), Rejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if !self.is_fair {
            return Ok(());
        }
        self.inner.queue.yield_to_waiters(key, limits, state, now, costs)
    }

    pub(crate) fn step<Q, T>(
        &self,
        key: &Q,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, KeyRejected>,
    ) -> Result<T, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.inner.engine.step(key, || self.clock().now(), step)
    }

    pub(crate) fn settle(&self, key: K, receipt: &Receipt, actual: Costs<'_>) {
        let Inner { engine, clock, queue } = &*self.inner;
        // `None` means that this call has stored the key, so nothing was refunded.
        if let Some(key) = engine.settle(key, || clock.now(), receipt, actual) {
            queue.wake_first(&key);
        }
    }
}
