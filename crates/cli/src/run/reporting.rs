//! Reporting: the numbers of a run that is over, for people and for programs.

mod curve;
pub(crate) mod json;
mod rates;
pub(crate) mod report;
pub(crate) mod summary;
pub(crate) mod verdict;
