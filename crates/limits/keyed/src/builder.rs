//! Defines the builder of limiters by key.

use crate::decide::DecisionEngine;
use crate::keyed::{LAG, MAX_KEYS};
use crate::store::KeyStore;
use crate::{Keyed, Uniform, WhenFull};
use nanopace_limits::custom::Meter;
use nanopace_limits::{Limiter, LimitsError};
use nanopace_nanos::{Clock, TscClock};
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::time::Duration;

/// Builds a [`Keyed`]. [`Keyed::per_second`], [`Keyed::per_minute`], [`Keyed::per`] and [`Keyed::builder`] start a
/// builder. [`build`](Self::build) reports the first invalid step.
///
/// ```
/// use nanopace_keyed::Keyed;
///
/// let users = Keyed::per_second(10).burst(20).and("5000/day").max_keys(10_000).build()?;
/// assert!(users.try_acquire(&7).is_ok());
/// assert!(Keyed::<u64>::per_second(10).burst(0).build().is_err());
/// # Ok::<(), nanopace_keyed::LimitsError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct KeyedBuilder<K, C = Uniform, S = RandomState> {
    config: Result<C, LimitsError>,
    hasher: S,
    max_keys: usize,
    when_full: WhenFull,
    lag: Duration,
    clock: Box<dyn Clock>,
    meter: Meter,
    keys: PhantomData<fn() -> K>,
}

impl<K: Hash + Eq> Keyed<K> {
    /// Starts a builder with a limit of `count` requests per second for each key.
    pub fn per_second(count: u64) -> KeyedBuilder<K> {
        Keyed::per(count, Duration::from_secs(1))
    }

    /// Starts a builder with a limit of `count` requests per minute for each key.
    pub fn per_minute(count: u64) -> KeyedBuilder<K> {
        Keyed::per(count, Duration::from_secs(60))
    }

    /// Starts a builder with a limit of `count` requests per `period` for each key.
    pub fn per(count: u64, period: Duration) -> KeyedBuilder<K> {
        KeyedBuilder::new(Limiter::per(count, period).limits().map(Uniform::new))
    }
}

impl<K, C> Keyed<K, C> {
    /// Starts a builder with limits by key from a [`ConfigStore`](crate::ConfigStore) or any
    /// [`LimitsOf`](crate::LimitsOf).
    pub fn builder(config: C) -> KeyedBuilder<K, C> {
        KeyedBuilder::new(Ok(config))
    }
}

impl<K, C> KeyedBuilder<K, C> {
    fn new(config: Result<C, LimitsError>) -> KeyedBuilder<K, C> {
        KeyedBuilder {
            config,
            hasher: RandomState::new(),
            max_keys: MAX_KEYS,
            when_full: WhenFull::default(),
            lag: LAG,
            clock: Box::new(TscClock::new()),
            meter: Meter::default(),
            keys: PhantomData,
        }
    }
}

impl<K, S> KeyedBuilder<K, Uniform, S> {
    /// Sets the burst of the last limit. By default, the burst is the limit's count per period.
    pub fn burst(self, burst: u64) -> Self {
        KeyedBuilder { config: self.config.and_then(|all| all.with_burst(burst)), ..self }
    }

    /// Adds one or more limits from a string in the format of [`Limits`](crate::Limits).
    pub fn and(self, limits: &str) -> Self {
        KeyedBuilder { config: self.config.and_then(|all| all.and(limits)), ..self }
    }
}

impl<K, C, S> KeyedBuilder<K, C, S> {
    /// Sets the maximum number of keys. The default is 2^20.
    pub fn max_keys(self, max_keys: usize) -> Self {
        KeyedBuilder { max_keys, ..self }
    }

    /// Sets what happens to a new key when the number of keys is at its maximum.
    pub fn when_full(self, when_full: WhenFull) -> Self {
        KeyedBuilder { when_full, ..self }
    }

    /// Sets the minimum time for which an idle key is kept, one second by default. After a key has been removed, requests
    /// at moments up to this time before the removal are still decided as if the key had been kept.
    pub fn lag(self, lag: Duration) -> Self {
        KeyedBuilder { lag, ..self }
    }

    /// Sets the hash function. With the default, [`RandomState`], an attacker cannot choose keys that collide.
    pub fn hasher<H>(self, hasher: H) -> KeyedBuilder<K, C, H> {
        let KeyedBuilder { config, max_keys, when_full, lag, clock, meter, keys, .. } = self;
        KeyedBuilder { config, hasher, max_keys, when_full, lag, clock, meter, keys }
    }

    /// Sets the clock, such as a [`ManualClock`](nanopace_nanos::ManualClock) in tests.
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        KeyedBuilder { clock: Box::new(clock), ..self }
    }

    /// Sets the name under which the metrics count the decisions, as [`Keyed::named`] does.
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn named(self, name: &str) -> Self {
        KeyedBuilder { meter: Meter::named(name), ..self }
    }
}

impl<K: Hash + Eq, C, S: BuildHasher> KeyedBuilder<K, C, S> {
    /// Builds the limits by key.
    ///
    /// # Errors
    /// Returns the [`LimitsError`] of the first invalid step.
    pub fn build(self) -> Result<Keyed<K, C, S>, LimitsError> {
        let KeyedBuilder { config, hasher, max_keys, when_full, lag, clock, meter, .. } = self;
        let engine = DecisionEngine::new(config?, KeyStore::new(max_keys, hasher, when_full, lag));
        Ok(Keyed::from_parts(engine, clock).with_meter(meter))
    }
}
