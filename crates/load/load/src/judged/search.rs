//! Judges the steps of a search, and chooses its next step.

pub(crate) mod judge;
pub(crate) mod method;
pub(crate) mod results;
