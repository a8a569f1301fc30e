//! Limits in a store, step by step.

use crate::core::Core;
use crate::error::RemoteError;
use crate::keyed::RemoteKeyed;
use crate::lease::Leases;
use crate::loss::OnLoss;
use crate::names::Names;
use crate::plan::Plan;
use crate::remote::Remote;
use nanopace_keyed::{ConfigStore, Limits, LimitsOf, Uniform};
use nanopace_nanos::{Clock, TscClock};
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
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
    micros: Option<Arc<AtomicU64>>,
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
            micros: None,
        }
    }

    /// What the names of all keys in the store begin with: `nanopace` by default. The state of a
    /// subject is one key, `prefix:{subject}`. So limiters with the same prefix share what was let in,
    /// and should have the same limits. One with braces is [`RemoteError::Prefix`]. The subject may be
    /// any text.
    ///
    /// ```
    /// use nanopace_remote::Remote;
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("10/s").prefix("users").build().is_ok());
    /// assert!(store.limits("10/s").prefix("{users}").build().is_err());
    /// # Ok::<(), nanopace_remote::RemoteError>(())
    /// ```
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// What becomes of requests when the store is lost. They are denied by default.
    ///
    /// ```
    /// use nanopace_remote::{OnLoss, Remote};
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("10/s").on_loss(OnLoss::Allow).build()?.try_acquire("alice").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { on_loss, ..self }
    }

    /// Takes tokens ahead, in blocks of what the rate brings in this time, and decides without the
    /// network as long as there are any: [`RemoteKeyed`] says what that means. The time is 1 ms to
    /// 10 s, and another one is [`RemoteError::Ahead`]; 100 ms is a good one. All that share a prefix should have the
    /// same.
    ///
    /// ```
    /// use nanopace_remote::Remote;
    /// use std::time::Duration;
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("100/s").leased(Duration::from_millis(100)).build().is_ok());
    /// assert!(store.limits("100/s").leased(Duration::ZERO).build().is_err());
    /// # Ok::<(), nanopace_remote::RemoteError>(())
    /// ```
    pub fn leased(self, ahead: Duration) -> Self {
        Self { leased: Some(ahead), ..self }
    }

    /// A clock for the time that tokens taken ahead are good for, and for decisions without the
    /// store: for tests.
    ///
    /// ```
    /// use nanopace_nanos::ManualClock;
    /// use nanopace_remote::Remote;
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("10/s").clock(ManualClock::new()).build().is_ok());
    /// # Ok::<(), nanopace_remote::RemoteError>(())
    /// ```
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// For the tests of this crate: the script takes this for the store's time, in microseconds.
    #[doc(hidden)]
    pub fn store_micros(self, micros: Arc<AtomicU64>) -> Self {
        Self { micros: Some(micros), ..self }
    }
}

impl<C: LimitsOf<str> + 'static> RemoteBuilder<C> {
    /// The limiter.
    ///
    /// # Errors
    /// [`RemoteError`]: what is wrong with the limits, or [`RemoteError::Prefix`],
    /// [`RemoteError::Share`], [`RemoteError::Ahead`], [`RemoteError::Thread`].
    ///
    /// ```
    /// use nanopace_remote::Remote;
    ///
    /// let store = Remote::lazy("redis://127.0.0.1:1/")?;
    /// assert!(store.limits("10/s").build().is_ok());
    /// assert!(store.limits("1000/h in 60").build().is_err());
    /// # Ok::<(), nanopace_remote::RemoteError>(())
    /// ```
    pub fn build(self) -> Result<RemoteKeyed<C>, RemoteError> {
        let config = Arc::new(self.config?);
        if self.on_loss == OnLoss::LocalShare(0) {
            return Err(RemoteError::Share);
        }
        let names = Names::new(self.prefix)?;
        let leases = self.leased.map(leases).transpose()?;
        let core = Core::new(config, names, self.on_loss, self.clock, leases, self.micros);
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
