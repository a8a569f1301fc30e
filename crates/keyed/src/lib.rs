#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "serde")]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub mod as_text;
mod config;
#[cfg(feature = "disk")]
mod disk;
#[cfg(any(feature = "disk", feature = "file"))]
mod durable;
mod engine;
#[cfg(feature = "file")]
mod file;
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
#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use file::FileConfig;
pub use limit::{Limit, LimitsError};
pub use limits::{Limits, LimitsState};
pub use rejected::KeyRejected;
pub use requests::{RequestStore, WhenFull};
