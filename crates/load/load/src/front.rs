//! The front door: a program in one call, a load by a builder, and the report of it.

pub(crate) mod builder;
pub mod fuzzing;
pub(crate) mod groups;
pub mod job;
pub(crate) mod program;
pub(crate) mod report;
