//! Tests the project with real processes, servers and threads under faults, and checks that every guarantee holds.

pub mod demo;
pub mod fleet;
pub mod stress;
