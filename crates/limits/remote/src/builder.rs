//! Limits in a store, step by step.

use crate::core::Core;
use crate::error::RemoteError;
use crate::key_names::KeyNames;
use crate::keyed::RemoteKeyed;
use crate::lease::Leases;
use crate::on_loss::OnLoss;
use crate::plan::Plan;
use crate::remote::Remote;
use nanopace_keyed::{ConfigStore, Limits, LimitsOf, Uniform};
use nanopace_nanos::{Clock, TscClock};
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// How far ahead tokens may be taken.
const AHEAD: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

/// Builds a [`RemoteKeyed`] step by step; [`Remote::limits`] begins one. What is not valid is
/// reported at the end.
///
/// ```
/// use nanopace_remote::{OnLoss, Remote};
/// use std::time::Duration;
///
/// let store = Remote::lazy("redis://127.0.0.1:1/")?;
/// let users = store
///     .limits("100/s burst 200, 5000/day")
///     .prefix("users")
///     .on_loss(OnLoss::LocalShare(4))
///     .leased(Duration::from_millis(50))
///     .build()?;
/// # drop(users);
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct RemoteBuilder<C> {
    store: Remote,
    config: Result<C, RemoteError>,
    prefix: String,
    on_loss: OnLoss,
    leased: Option<Duration>,
    clock: Arc<dyn Clock>,
    store_clock: Option<Arc<dyn Clock>>,
}

impl Remote {
    /// The same limits for each key, as text.
    ///
    /// ```
    /// use nanopace_remote::Remote;
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("10/s, 5000/day fixed-window").build().is_ok());
    /// assert!(store.limits("many").build().is_err());
    /// assert!(store.limits("").build().is_err(), "no limit is `unlimited`");
    /// # Ok::<(), nanopace_remote::RemoteError>(())
    /// ```
    pub fn limits(&self, limits: &str) -> RemoteBuilder<Uniform> {
        RemoteBuilder::new(self.clone(), uniform(limits))
    }

    /// Limits of its own for each key, by a configuration: [`RemoteConfig`](crate::RemoteConfig) in
    /// a store, or any other one of `nanopace-keyed`.
    ///
    /// ```
    /// use nanopace_keyed::{ConfigStore, MemoryConfig, Scope};
    /// use nanopace_remote::Remote;
    ///
    /// let config = MemoryConfig::new();
    /// config.set(Scope::Prefix(""), "10/s".parse()?)?;
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.config(config).build().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config<C: ConfigStore>(&self, config: C) -> RemoteBuilder<C> {
        RemoteBuilder::new(self.clone(), Ok(config))
    }
}

impl<C> RemoteBuilder<C> {
    fn new(store: Remote, config: Result<C, RemoteError>) -> Self {
        Self {
            store,
            config,
            prefix: "nanopace".to_owned(),
            on_loss: OnLoss::default(),
            leased: None,
            clock: Arc::new(TscClock::new()),
            store_clock: None,
        }
    }

    /// What the names of all keys in the store begin with: `nanopace` by default. The state of a
    /// subject is one key, `prefix:{subject}`. So limiters with the same prefix share what was let in,
    /// and should have the same limits. One with braces is [`RemoteError::Prefix`]. The subject may be
    /// any text.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// What becomes of requests when the store is lost. They are denied by default.
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { on_loss, ..self }
    }

    /// Takes tokens ahead, in blocks of what the rate brings in this time, and decides without the
    /// network as long as there are any: [`RemoteKeyed`] says what that means. The time is 1 ms to
    /// 10 s, and another one is [`RemoteError::Ahead`]; 100 ms is a good one. All that share a prefix should have the
    /// same.
    pub fn leased(self, ahead: Duration) -> Self {
        Self { leased: Some(ahead), ..self }
    }

    /// A clock for the time that tokens taken ahead are good for, and for decisions without the
    /// store: for tests.
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// A clock that the store uses instead of its own, in whole microseconds: for tests in virtual time. All
    /// limiters with this prefix must share it. The store then keeps states for ten minutes more than needed.
    pub fn store_clock(self, clock: impl Clock + 'static) -> Self {
        Self { store_clock: Some(Arc::new(clock)), ..self }
    }
}

impl<C: LimitsOf<str> + 'static> RemoteBuilder<C> {
    /// The limiter.
    ///
    /// # Errors
    /// [`RemoteError`]: what is wrong with the limits, or [`RemoteError::Prefix`],
    /// [`RemoteError::Share`], [`RemoteError::Ahead`], [`RemoteError::Thread`].
    pub fn build(self) -> Result<RemoteKeyed<C>, RemoteError> {
        let config = Arc::new(self.config?);
        if self.on_loss == OnLoss::LocalShare(0) {
            return Err(RemoteError::Share);
        }
        let names = KeyNames::new(self.prefix)?;
        let leases = self.leased.map(leases).transpose()?;
        let core = Core::new(config, names, self.on_loss, self.clock, leases, self.store_clock);
        RemoteKeyed::start(self.store, core)
    }
}

fn leases(ahead: Duration) -> Result<Leases, RemoteError> {
    if AHEAD.contains(&ahead) { Ok(Leases::new(ahead)) } else { Err(RemoteError::Ahead { ahead }) }
}

fn uniform(limits: &str) -> Result<Uniform, RemoteError> {
    let limits: Limits = limits.parse()?;
    Plan::new(Arc::new(limits.clone()))?;
    Ok(Uniform::new(limits))
}
