//! Tests the project with real processes, servers and threads under faults, and checks its guarantees.

#[cfg(feature = "fleet")]
pub mod demo;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod stress;
