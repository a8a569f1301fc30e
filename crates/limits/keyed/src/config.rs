//! The configuration store, which contains the limits of each key.

#[cfg(feature = "serde")]
mod document;
mod memory;
mod snapshot;
mod store;

pub use memory::MemoryConfig;
pub use snapshot::{Change, ConfigSnapshot, Scope};
pub use store::{ConfigError, ConfigStore};
