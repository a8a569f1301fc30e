#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod adaptive_timeout;
#[cfg(feature = "async")]
mod async_keyed;
#[cfg(feature = "async")]
mod async_store;
mod breaker;
mod builder;
mod config;
mod core;
mod decide;
mod error;
mod key_names;
mod keyed;
mod lease;
mod lease_keeper;
mod on_loss;
mod plan;
mod remote;
mod script;
mod settings;
mod stats;
mod store;

#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use async_keyed::AsyncRemoteKeyed;
pub use builder::RemoteBuilder;
pub use config::RemoteConfig;
pub use error::{RemoteError, RemoteRejected, StoreError, UnsupportedLimit};
pub use keyed::RemoteKeyed;
pub use nanopace_keyed::{
    Change, ConfigStore, Costs, Decision, KeyRejected, Limits, LimitsError, Rejected, Scope,
    Standing,
};
pub use on_loss::OnLoss;
pub use remote::Remote;
pub use settings::Settings;
pub use stats::Stats;
