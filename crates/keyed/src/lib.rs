#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod config;
#[cfg(feature = "disk")]
mod disk;
#[cfg(feature = "disk")]
mod durable;
mod engine;
mod limit;
mod limits;
mod rejected;
mod replaced;
mod requests;
mod sync;

pub use config::{Change, ConfigError, ConfigSnapshot, ConfigStore, MemoryConfig, Scope};
#[cfg(feature = "disk")]
#[cfg_attr(docsrs, doc(cfg(feature = "disk")))]
pub use disk::DiskConfig;
pub use engine::{DecisionEngine, PerKey, Tally};
pub use limit::{Limit, LimitsError};
pub use limits::{Limits, LimitsState};
pub use rejected::KeyRejected;
pub use requests::{RequestStore, WhenFull};
