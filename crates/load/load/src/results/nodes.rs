//! Defines the results that the nodes of a fleet record and report.

pub(crate) mod results;
pub(crate) mod tellings;
pub(crate) mod timeline;
