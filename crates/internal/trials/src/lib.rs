//! Tests the project with real processes, servers and threads under faults, and checks that every guarantee holds.

#[cfg(feature = "fleet")]
pub mod demo;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod stress;
