//! Limits by key, in a line.

use crate::keyed::MAX_KEYS;
use crate::{DecisionEngine, Keyed, Uniform, WhenFull};
use nanopace::{Clock, TscClock};
use nanopace_limits::internal::Meter;
use nanopace_limits::{Limiter, LimitsBuilder, LimitsError};
use std::hash::Hash;
use std::marker::PhantomData;
use std::time::Duration;

/// Builds a [`Keyed`] step by step; [`Keyed::per_second`] begins one. What is not valid is reported
/// at the end.
///
/// ```
/// use nanopace_keyed::Keyed;
///
/// let users = Keyed::per_second(10).burst(20).and("5000/day").max_keys(10_000).build()?;
/// assert!(users.try_acquire(&7).is_ok());
///
/// let error = Keyed::<u64>::per_second(10).burst(0).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "that capacity lets nothing in: write at least 1, the cost of one request"
/// );
/// # Ok::<(), nanopace_keyed::LimitsError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct KeyedBuilder<K> {
    limits: LimitsBuilder,
    max_keys: usize,
    when_full: WhenFull,
    clock: Box<dyn Clock>,
    meter: Meter,
    keys: PhantomData<fn() -> K>,
}

impl<K: Hash + Eq> Keyed<K> {
    /// Begins with `count` requests per second for each key.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// let users: Keyed = Keyed::per_second(10).build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn per_second(count: u64) -> KeyedBuilder<K> {
        Keyed::per(count, Duration::from_secs(1))
    }

    /// Begins with `count` requests per minute for each key.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// let users: Keyed = Keyed::per_minute(10).build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn per_minute(count: u64) -> KeyedBuilder<K> {
        Keyed::per(count, Duration::from_secs(60))
    }

    /// Begins with `count` requests per `period` for each key.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    /// use std::time::Duration;
    ///
    /// let users: Keyed = Keyed::per(100, Duration::from_secs(3_600)).build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn per(count: u64, period: Duration) -> KeyedBuilder<K> {
        KeyedBuilder {
            limits: Limiter::per(count, period),
            max_keys: MAX_KEYS,
            when_full: WhenFull::default(),
            clock: Box::new(TscClock::new()),
            meter: Meter::default(),
            keys: PhantomData,
        }
    }
}

impl<K: Hash + Eq> KeyedBuilder<K> {
    /// Lets up to `burst` of the last limit in at once. Without it that is one period's worth.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// let users: Keyed = Keyed::per_second(10).burst(20).build()?;
    /// assert!(users.try_acquire_costs("alice", 20).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn burst(self, burst: u64) -> Self {
        KeyedBuilder { limits: self.limits.burst(burst), ..self }
    }

    /// Another limit at once, or several, written as [`Limits`](crate::Limits) are.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// let users: Keyed = Keyed::per_second(10).and("100/day sliding-log").build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn and(self, limits: &str) -> Self {
        KeyedBuilder { limits: self.limits.and(limits), ..self }
    }

    /// The most keys that there may be at a time. The default is 2^20.
    ///
    /// ```
    /// use nanopace_keyed::{Keyed, KeyRejected};
    ///
    /// let users: Keyed = Keyed::per_minute(10).max_keys(1).build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// assert_eq!(users.try_acquire("bob"), Err(KeyRejected::TooManyKeys { max: 1 }));
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn max_keys(self, max_keys: usize) -> Self {
        KeyedBuilder { max_keys, ..self }
    }

    /// What happens to a new key when there are as many as there may be.
    ///
    /// ```
    /// use nanopace_keyed::{Keyed, WhenFull};
    ///
    /// let users: Keyed = Keyed::per_second(10).when_full(WhenFull::Reject).build()?;
    /// # let _ = users;
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn when_full(self, when_full: WhenFull) -> Self {
        KeyedBuilder { when_full, ..self }
    }

    /// Another clock, such as a [`ManualClock`](nanopace::ManualClock) in tests.
    ///
    /// ```
    /// use nanopace::ManualClock;
    /// use nanopace_keyed::Keyed;
    ///
    /// let clock = ManualClock::new();
    /// let users: Keyed = Keyed::per_second(10).clock(clock.clone()).build()?;
    /// # let _ = users;
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        KeyedBuilder { clock: Box::new(clock), ..self }
    }

    /// A name under which the answers are counted: [`Keyed::named`].
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// let users: Keyed = Keyed::per_second(10).named("users").build()?;
    /// assert!(users.try_acquire("alice").is_ok());
    /// # Ok::<(), nanopace_keyed::LimitsError>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn named(self, name: &str) -> Self {
        KeyedBuilder { meter: Meter::named(name), ..self }
    }

    /// The limits by key.
    ///
    /// # Errors
    /// [`LimitsError`]: what is wrong with the first of the steps that is not valid.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    ///
    /// assert!(Keyed::<u64>::per_second(10).build().is_ok());
    /// assert!(Keyed::<u64>::per_second(0).build().is_err());
    /// ```
    pub fn build(self) -> Result<Keyed<K>, LimitsError> {
        let uniform = Uniform::new(self.limits.limits()?);
        let engine = DecisionEngine::new(uniform, self.max_keys);
        let engine = engine.tuned(|requests| requests.when_full(self.when_full));
        Ok(Keyed::from_parts(engine, self.clock).with_meter(self.meter))
    }
}
