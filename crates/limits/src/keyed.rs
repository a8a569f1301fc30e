//! Limits by key, for a handful or a million of them, in three parts:
//!
//! | part | type | knows |
//! |---|---|---|
//! | configuration store | [`ConfigStore`]: [`MemoryConfig`], `DiskConfig` (feature `disk`) | which limits each key has |
//! | request store | [`RequestStore`] | what was let in for each key |
//! | decision engine | [`DecisionEngine`] | the answer |
//!
//! When all keys have the same limits, the request store alone is enough: it takes any
//! [`Rule`](crate::Rule), tuples included. Keys with limits of their own are the decision engine's
//! business.
//!
//! All moments are those of one clock. For any of them, a decision is made under the lock of the
//! key's shard: changes of the configuration, clean-up and decisions on the same key never overlap.

mod config;
#[cfg(feature = "disk")]
mod disk;
mod engine;
mod limits;
mod refused;
mod replaced;
mod requests;
mod window;

pub use config::{ConfigError, ConfigStore, MemoryConfig, Scope};
#[cfg(feature = "disk")]
pub use disk::DiskConfig;
pub use engine::{DecisionEngine, PerKey, Tally};
pub use limits::{Limit, Limits, LimitsError, LimitsState};
pub use refused::KeyRefused;
pub use requests::{RequestStore, WhenFull};
pub use window::{AggregatedState, AggregatedWindow};
