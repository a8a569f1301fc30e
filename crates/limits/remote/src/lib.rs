#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod breaker;
mod builder;
mod config;
mod core;
mod decide;
mod error;
mod keyed;
mod lease;
mod loss;
mod names;
mod patience;
mod plan;
mod record;
mod remote;
mod script;
mod settings;
mod share;
mod stats;
mod store;
mod sweep;
#[cfg(feature = "async")]
mod tasks;
#[cfg(feature = "async")]
mod tasks_store;

pub use builder::RemoteBuilder;
pub use config::RemoteConfig;
pub use error::{RemoteError, RemoteRejected, StoreError, UnsupportedLimit};
pub use keyed::RemoteKeyed;
pub use loss::OnLoss;
pub use nanopace_keyed::{
    Change, ConfigStore, Costs, Decision, KeyRejected, Limits, LimitsError, Rejected, Scope,
    Standing,
};
pub use remote::Remote;
pub use settings::Settings;
pub use stats::Stats;
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use tasks::AsyncRemoteKeyed;
