//! Defines the builder of limiters whose state is in a store.

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

const AHEAD: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

/// Builds a [`RemoteKeyed`]. [`Remote::limits`] and [`Remote::config`] start a builder.
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
    /// Starts a builder with the same limits for each key, from a string.
    pub fn limits(&self, limits: &str) -> RemoteBuilder<Uniform> {
        RemoteBuilder::new(self.clone(), uniform(limits))
    }

    /// Starts a builder with separate limits for each key, from a configuration: a
    /// [`RemoteConfig`](crate::RemoteConfig) in a store, or a configuration store of `nanopace-keyed`.
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

    /// Sets the prefix of all key names in the store: `nanopace` by default. The state of a subject (the `key` of its
    /// requests) is stored under one name: `prefix:{subject}`, or `prefix:#{hash}` with the SHA-256 hash of a subject
    /// of over 512 bytes. Limiters with the same prefix therefore share their counts, and should have the same limits.
    /// If the prefix contains braces, [`build`](Self::build) returns [`RemoteError::Prefix`]. The subject may be any
    /// string.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Sets what happens to requests when the store is lost. Requests are denied by default.
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { on_loss, ..self }
    }

    /// Makes the limiter take tokens ahead of requests, in blocks. A block contains at most the tokens that accrue in
    /// the time `ahead`, or one token if none accrues in that time. While enough tokens of a key's block are left,
    /// decisions on the key do not use the network; see [`RemoteKeyed`]. The time must be from 1 ms to 10 s; otherwise,
    /// [`build`](Self::build) returns [`RemoteError::Ahead`]. 100 ms is a good value. Use the same `ahead` for all
    /// limiters that share a prefix.
    pub fn leased(self, ahead: Duration) -> Self {
        Self { leased: Some(ahead), ..self }
    }

    /// Sets this process's clock, for tests. The clock is used for leased tokens and for decisions without the store.
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Sets a clock that replaces the store's own, for tests in virtual time. Its time is rounded down to microseconds.
    /// All limiters with this prefix must share this clock. With such a clock, the store keeps states for ten minutes
    /// longer than needed.
    pub fn store_clock(self, clock: impl Clock + 'static) -> Self {
        Self { store_clock: Some(Arc::new(clock)), ..self }
    }
}

impl<C: LimitsOf<str> + 'static> RemoteBuilder<C> {
    /// Builds the limiter.
    ///
    /// # Errors
    /// Returns [`RemoteError::Limits`] or [`RemoteError::Unsupported`] for limits that are not valid in a store, or
    /// [`RemoteError::Prefix`], [`RemoteError::Share`], [`RemoteError::Ahead`] or [`RemoteError::Thread`].
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
