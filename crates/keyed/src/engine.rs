//! The decision engine: it applies the limits that are configured for a key to what was counted for
//! it.

use crate::{ConfigStore, KeyRejected, Limits, LimitsState, RequestStore};
use nanopace::Nanos;
use nanopace_limits::{Rejected, Rule};
use std::sync::Arc;

/// Decides by each key's own limits. A [`ConfigStore`] has the limits, and a [`RequestStore`] has
/// what was counted.
///
/// The engine looks a key's limits up at the key's first request, and again at the first one after
/// a change of the configuration. Otherwise a decision finds them in the key's entry. When they
/// have changed, what was counted stays counted:
///
/// * A limit that has stayed the same goes on as if nothing had happened. So does a window whose
///   count is the only thing that has changed.
/// * Another limit begins with what the limits before it have counted. A window counts each request
///   at the latest moment at which it may have been let in. A GCRA limit is exhausted at worst, so
///   it lets in one more after one interval at the latest.
/// * A limit that is no longer in force keeps counting until all that it has counted is paid off or
///   has left its window. If it comes back into force before, it is as if it had been there all
///   along. So lowering a limit and raising it again lets nothing in twice. Up to eight such limits
///   are kept for each key: those that count for longest.
///
/// Take limits of which one always lets in more than the other. Then in any span, no more gets in
/// than the highest of the limits that were in force lets through.
///
/// A key without limits is rejected ([`KeyRejected::NoLimits`]). To give limits to all keys, set
/// defaults for the empty prefix.
///
/// # Cost
///
/// * Memory per key: the key, 40 bytes, 16 bytes for each limit, and for an aggregated window what
///   it takes by itself. Limits that are no longer in force take 24 bytes, and 88 more each, while
///   they count.
/// * A decision takes what the [`RequestStore`] takes, one load of the configuration's version, and
///   the steps of the rules.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_keyed::{ConfigStore, DecisionEngine, KeyRejected, MemoryConfig, Scope};
/// use nanopace_limits::Rejected;
///
/// let config = MemoryConfig::new();
/// config.set(Scope::Prefix(""), "2/s, 3/min in 60".parse()?)?;
/// let engine = DecisionEngine::new(config, 1_000_000);
/// let at = |millis: u64| Nanos::from_nanos(millis * 1_000_000);
///
/// assert!(engine.try_acquire_n_at("alice", 2, at(10_000)).is_ok());
/// let rejected = KeyRejected::Limit(Rejected::NotUntil(at(10_500)));
/// assert_eq!(engine.try_acquire_at("alice", at(10_000)), Err(rejected));
/// assert!(engine.try_acquire_at("bob", at(10_000)).is_ok());
///
/// engine.config().set(Scope::Key("alice"), "4/s".parse()?)?;
/// assert!(engine.try_acquire_at("alice", at(10_000)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DecisionEngine<C> {
    config: C,
    requests: RequestStore<String, PerKey>,
}

/// The rule by which each state brings its own limits along. Only [`DecisionEngine`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct PerKey(());

/// A key's limits, and what they remember.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// None until they are looked up.
    limits: Option<Arc<Limits>>,
    /// The configuration's, before the limits were looked up.
    version: u64,
    state: LimitsState,
}

impl<C: ConfigStore> DecisionEngine<C> {
    /// Decides by `config`, for at most `max_keys` keys at a time.
    ///
    /// ```
    /// use nanopace_keyed::{DecisionEngine, MemoryConfig};
    ///
    /// let engine = DecisionEngine::new(MemoryConfig::new(), 1_000_000);
    /// assert_eq!(engine.requests().keys(), 0);
    /// ```
    #[must_use]
    pub fn new(config: C, max_keys: usize) -> DecisionEngine<C> {
        DecisionEngine::build(config, max_keys, |requests| requests)
    }

    /// The same as [`new`](DecisionEngine::new), with a request store that `tune` has given another
    /// policy or lag.
    ///
    /// ```
    /// use nanopace_keyed::{DecisionEngine, MemoryConfig, WhenFull};
    ///
    /// let engine = DecisionEngine::build(MemoryConfig::new(), 1_000, |requests| {
    ///     requests.when_full(WhenFull::Reject)
    /// });
    /// # let _ = engine;
    /// ```
    #[must_use]
    pub fn build(
        config: C,
        max_keys: usize,
        tune: impl FnOnce(RequestStore<String, PerKey>) -> RequestStore<String, PerKey>,
    ) -> DecisionEngine<C> {
        DecisionEngine { config, requests: tune(RequestStore::new(PerKey(()), max_keys)) }
    }

    /// The limits of each key. They can be changed at any time. A change takes effect at the key's
    /// next decision.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::{ConfigStore, DecisionEngine, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "2/s".parse()?)?;
    /// let engine = DecisionEngine::new(config, 1_000);
    /// engine.config().set(Scope::Key("alice"), "3/s".parse()?)?;
    /// assert!(engine.try_acquire_n_at("alice", 3, Nanos::ZERO).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config(&self) -> &C {
        &self.config
    }

    /// The store of what was counted.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::{ConfigStore, DecisionEngine, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "2/s".parse()?)?;
    /// let engine = DecisionEngine::new(config, 1_000);
    /// engine.try_acquire_at("alice", Nanos::ZERO)?;
    /// assert_eq!(engine.requests().keys(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requests(&self) -> &RequestStore<String, PerKey> {
        &self.requests
    }

    /// Lets one request in for `key` at `now`, or says why not.
    ///
    /// # Errors
    /// [`KeyRejected`]. Nothing is counted then.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::{ConfigStore, DecisionEngine, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "2/s".parse()?)?;
    /// let engine = DecisionEngine::new(config, 1_000);
    /// assert!(engine.try_acquire_at("alice", Nanos::ZERO).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_at(&self, key: &str, now: Nanos) -> Result<(), KeyRejected> {
        self.try_acquire_n_at(key, 1, now)
    }

    /// Lets `n` in for `key` at `now`, or says why not: all of them or none. Zero gets in for every
    /// key that has limits, and counts as nothing.
    ///
    /// # Errors
    /// [`KeyRejected`]. Nothing is counted then.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::{ConfigStore, DecisionEngine, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "2/s".parse()?)?;
    /// let engine = DecisionEngine::new(config, 1_000);
    /// assert!(engine.try_acquire_n_at("alice", 2, Nanos::ZERO).is_ok());
    /// assert!(engine.try_acquire_n_at("alice", 1, Nanos::ZERO).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_n_at(&self, key: &str, n: u64, now: Nanos) -> Result<(), KeyRejected> {
        self.requests.decide(key, n, now, |tally, at| self.refresh(tally, key, at))
    }

    /// Returns what [`try_acquire_n_at`](DecisionEngine::try_acquire_n_at) would answer. Counts and
    /// removes nothing.
    ///
    /// # Errors
    /// As for [`RequestStore::check_n_at`].
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::{ConfigStore, DecisionEngine, MemoryConfig, Scope};
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "2/s".parse()?)?;
    /// let engine = DecisionEngine::new(config, 1_000);
    /// assert!(engine.check_n_at("alice", 2, Nanos::ZERO).is_ok());
    /// assert_eq!(engine.requests().keys(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_n_at(&self, key: &str, n: u64, now: Nanos) -> Result<(), KeyRejected> {
        self.requests.look(key, n, now, |tally, at| self.refresh(tally, key, at))
    }

    /// Gives the tally the key's limits as they are now.
    fn refresh(&self, tally: &mut Tally, key: &str, now: Nanos) -> Result<(), KeyRejected> {
        // Asked before the limits: a change between the two is then seen next time.
        let version = self.config.version_of(key);
        if tally.limits.is_some() && tally.version == version {
            return Ok(());
        }
        let limits = self.config.limits_of(key).ok_or(KeyRejected::NoLimits)?;
        tally.follow(limits, now);
        tally.version = version;
        Ok(())
    }
}

impl Tally {
    /// Goes on by `limits`.
    fn follow(&mut self, limits: Arc<Limits>, now: Nanos) {
        match &self.limits {
            None => self.state = limits.fresh(),
            Some(old) if **old == *limits => (),
            Some(old) => {
                old.advance(&mut self.state, now);
                self.state = limits.carry(old, &self.state, now);
            }
        }
        self.limits = Some(limits);
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
        if let Some(limits) = &tally.limits {
            limits.advance(&mut tally.state, now);
        }
    }

    fn check(&self, tally: &Tally, now: Nanos, n: u64) -> Result<(), Rejected> {
        tally.limits.as_ref().map_or(Ok(()), |limits| limits.check(&tally.state, now, n))
    }

    fn debit(&self, tally: &mut Tally, now: Nanos, n: u64) {
        if let Some(limits) = &tally.limits {
            limits.debit(&mut tally.state, now, n);
        }
    }

    fn is_idle(&self, tally: &Tally, now: Nanos) -> bool {
        tally.limits.as_ref().is_none_or(|limits| limits.is_idle(&tally.state, now))
    }
}
