//! Reporting: the numbers of a run that is over, for people and for programs.

mod curve;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod json;
pub(crate) mod machine;
pub(crate) mod page;
mod rates;
pub(crate) mod report;
mod spectrum;
pub(crate) mod summary;
pub(crate) mod verdict;
