//! The configuration store: which limits each key has.

#[cfg(feature = "serde")]
mod document;
mod memory;
mod snapshot;
mod store;

pub use memory::MemoryConfig;
pub use snapshot::{Change, ConfigSnapshot, Scope};
pub use store::{ConfigError, ConfigStore};
