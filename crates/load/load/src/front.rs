//! The front door: a program in one call, a load by a builder, and the report of it.

pub(crate) mod builder;
pub(crate) mod data;
pub(crate) mod groups;
pub(crate) mod help;
pub(crate) mod job;
pub(crate) mod program;
pub(crate) mod report;
