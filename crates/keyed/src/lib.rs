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
pub use engine::DecisionEngine;
#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use file::FileConfig;
pub use keyed::Keyed;
pub use limits_of::{LimitsOf, Uniform};
pub use nanopace_limits::{
    Costs, Decision, Limit, Limits, LimitsError, Rejected, Standing, Wait, WaitError,
};
pub use rejected::KeyRejected;
pub use requests::{RequestStore, WhenFull};
pub use reservation::KeyReservation;
#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use tasks::AsyncKeyed;

/// What tests of this project need beside the rest. It is outside of what semantic versions promise,
/// and so are the hidden methods that take or return any of it.
#[doc(hidden)]
pub mod internal {
    pub use crate::engine::{PerKey, Tally};
    pub use crate::waiting::KeyGate;
}
