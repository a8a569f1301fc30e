//! Reporting: the numbers of a run that is over, for people and for programs.

mod curve;
pub(crate) mod json;
pub(crate) mod rate_history;
pub(crate) mod report;
pub(crate) mod summary;
mod verdict;
