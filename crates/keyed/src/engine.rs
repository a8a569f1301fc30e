//! The decision engine: the limits that are configured for a key, applied to what was counted for
//! it.

use crate::{ConfigStore, KeyRejected, Limits, LimitsState, RequestStore};
use nanopace::Nanos;
use nanopace_limits::{Rejected, Rule};
use std::sync::Arc;

/// Decides by each key's own limits: those of a [`ConfigStore`], on what a [`RequestStore`] has
/// counted.
///
/// A key's limits are looked up at its first request, and again at its next one after the
/// configuration has changed; otherwise a decision takes them from the key's entry. When they have
/// changed, what was counted stays counted:
/// * A limit that stays as it was goes on as if nothing had happened; so does a window with another
///   count.
/// * Another one begins with what the limits before it count. A window counts each request at the
///   latest moment at which it may have been let in. A cooldown is at worst exhausted, and so lets
///   in one more after one interval at the latest.
/// * A limit that is no longer in force counts on until all that it has counted is paid off or has
///   left its window. Put in force again before, it is as if it had been all along, so lowering a
///   limit and raising it again lets in nothing twice. Up to eight such limits are kept for each
///   key, those that count for longest.
///
/// So of limits of which one always lets in more than the other, in no span does more get in than
/// what the highest in force within it lets through.
///
/// A key without limits is rejected ([`KeyRejected::NoLimits`]); set defaults for the empty prefix if
/// all are to have some.
///
/// * Memory per key: the key; 40 bytes; 16 for each limit, and for an aggregated window what it
///   says besides. Limits that are no longer in force take 24, and 88 more each, while they count.
/// * Cost per decision: that of the [`RequestStore`], one load of the configuration's version, and
///   the rules' steps.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::Rejected;
/// use nanopace_keyed::{ConfigStore, DecisionEngine, KeyRejected, MemoryConfig, Scope};
///
/// let config = MemoryConfig::new();
/// config.set(Scope::Prefix(""), "2/s, 3/min in 60".parse()?)?;
/// let engine = DecisionEngine::new(config, 1_000_000);
/// let at = |seconds: u64| Nanos::from_nanos(seconds * 1_000_000_000);
///
/// assert!(engine.try_acquire_n_at("alice", 2, at(10)).is_ok());
/// assert_eq!(engine.try_acquire_at("alice", at(10)), Err(KeyRejected::Limit(Rejected::NotUntil(Nanos::from_nanos(10_500_000_000)))));
/// assert!(engine.try_acquire_at("bob", at(10)).is_ok());
///
/// engine.config().set(Scope::Key("alice"), "4/s".parse()?)?;
/// assert!(engine.try_acquire_at("alice", at(10)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DecisionEngine<C> {
    config: C,
    requests: RequestStore<String, PerKey>,
}

/// The rule that each state brings its own limits along. Made by [`DecisionEngine`] only.
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
    #[must_use]
    pub fn new(config: C, max_keys: usize) -> DecisionEngine<C> {
        DecisionEngine::build(config, max_keys, |requests| requests)
    }

    /// As [`new`](DecisionEngine::new), with a request store that was given another policy or lag.
    ///
    /// ```
    /// use nanopace_keyed::{DecisionEngine, MemoryConfig, WhenFull};
    ///
    /// let engine = DecisionEngine::build(MemoryConfig::new(), 1000, |requests| requests.when_full(WhenFull::Reject));
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

    /// Which limits each key has; can be changed at any time, and takes effect at the key's next
    /// decision.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// What was counted.
    pub fn requests(&self) -> &RequestStore<String, PerKey> {
        &self.requests
    }

    /// Lets one in for `key` at `now`, or says why not.
    ///
    /// # Errors
    /// [`KeyRejected`]; nothing was counted then.
    pub fn try_acquire_at(&self, key: &str, now: Nanos) -> Result<(), KeyRejected> {
        self.try_acquire_n_at(key, 1, now)
    }

    /// Lets `n` in for `key` at `now`, or says why not. Zero gets in for every key that has limits,
    /// and counts as nothing.
    ///
    /// # Errors
    /// [`KeyRejected`]; nothing was counted then.
    pub fn try_acquire_n_at(&self, key: &str, n: u64, now: Nanos) -> Result<(), KeyRejected> {
        self.requests.decide(key, n, now, |tally, at| self.refresh(tally, key, at))
    }

    /// What [`try_acquire_n_at`](DecisionEngine::try_acquire_n_at) would answer; counts and removes
    /// nothing.
    ///
    /// # Errors
    /// As [`RequestStore::check_n_at`].
    pub fn check_n_at(&self, key: &str, n: u64, now: Nanos) -> Result<(), KeyRejected> {
        self.requests.look(key, n, now, |tally, at| self.refresh(tally, key, at))
    }

    /// Gives the tally the key's limits as they are now.
    fn refresh(&self, tally: &mut Tally, key: &str, now: Nanos) -> Result<(), KeyRejected> {
        // Asked before the limits: a change between the two is then seen next time.
        let version = self.config.version();
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

    /// What a key's limits are is a matter of its tally.
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
