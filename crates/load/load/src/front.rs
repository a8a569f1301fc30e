//! Defines most of the public API: programs, loads, searches and reports.

pub(crate) mod builder;
pub(crate) mod data;
pub(crate) mod groups;
pub(crate) mod help;
pub(crate) mod job;
pub(crate) mod loads;
pub(crate) mod program;
pub(crate) mod report;
