#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod config;
#[cfg(feature = "disk")]
mod disk;
#[cfg(any(feature = "disk", feature = "file"))]
mod durable;
mod engine;
#[cfg(feature = "file")]
mod file;
mod keyed;
mod limits_of;
mod rejected;
mod requests;
mod reservation;
mod sync;
#[cfg(feature = "async")]
mod tasks;
mod waiting;

pub use builder::KeyedBuilder;
pub use config::{Change, ConfigError, ConfigSnapshot, ConfigStore, MemoryConfig, Scope};
#[cfg(feature = "disk")]
#[cfg_attr(docsrs, doc(cfg(feature = "disk")))]
pub use disk::DiskConfig;
#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use file::FileConfig;
pub use keyed::Keyed;
pub use limits_of::{LimitsOf, Uniform};
pub use nanopace_limits::{
    Costs, Decision, Limit, Limits, LimitsError, Rejected, Standing, Wait, WaitError,
};
pub use rejected::KeyRejected;
pub use requests::WhenFull;
pub use reservation::KeyReservation;
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use tasks::AsyncKeyed;

/// What a [`Keyed`] is made of: a store of what was let in for each key, for any rule, and the engine
/// that has each key's limits in it. They are here for the tests and measurements of this project,
/// outside of what semantic versions promise, and so are the hidden methods that take any of it.
#[doc(hidden)]
pub mod internal {
    pub use crate::engine::{DecisionEngine, PerKey, Tally};
    pub use crate::requests::RequestStore;
    pub use crate::waiting::KeyGate;
}

use internal::{DecisionEngine, RequestStore};
