//! The configuration store, which contains the limits of each key.

#[cfg(feature = "serde")]
mod document;
mod memory;
mod snapshot;
mod store;

pub use memory::MemoryConfig;
pub use snapshot::{Change, ConfigSnapshot, Scope};
#[cfg(any(feature = "disk", feature = "file"))]
pub(crate) use store::check_strings;
pub use store::{ConfigError, ConfigStore};
