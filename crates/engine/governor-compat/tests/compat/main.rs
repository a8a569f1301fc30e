//! Tests that this crate has governor's interface, and tests its decisions, in one test program.

mod direct;
mod quota;
mod waiting;
