#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "async")]
mod async_keyed;
#[cfg(any(feature = "disk", feature = "file"))]
mod atomic_file;
mod builder;
mod config;
mod decide;
#[cfg(feature = "disk")]
mod disk;
#[cfg(feature = "file")]
mod file;
mod key_state;
mod keyed;
mod limits_of;
mod rejected;
mod reservation;
mod store;
mod sync;
mod waiting;

#[cfg(feature = "async")]
#[cfg_attr(docsrs, doc(cfg(feature = "async")))]
pub use async_keyed::AsyncKeyed;
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
pub use reservation::KeyReservation;
pub use store::WhenFull;
