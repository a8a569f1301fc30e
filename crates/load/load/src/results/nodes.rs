//! Defines the results that the nodes of a fleet record and send to each other.

pub(crate) mod results;
pub(crate) mod tellings;
pub(crate) mod timeline;
