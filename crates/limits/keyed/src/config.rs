//! The configuration store: which limits each key has.

mod change;
#[cfg(feature = "serde")]
mod document;
mod error;
mod memory;
mod snapshot;
mod store;
mod tables;
mod versions;

pub use change::{Change, Scope};
pub use error::ConfigError;
pub use memory::MemoryConfig;
pub use snapshot::ConfigSnapshot;
pub use store::ConfigStore;
