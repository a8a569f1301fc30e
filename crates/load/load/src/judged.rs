//! Judges runs, and compares them. Also chooses the next step of a search.

pub(crate) mod advice;
pub(crate) mod checks;
pub(crate) mod comparison;
pub(crate) mod criteria;
pub(crate) mod headline;
mod loads;
pub(crate) mod merged;
pub(crate) mod merged_part;
pub(crate) mod search;
pub(crate) mod shortages;
pub(crate) mod summary;
pub(crate) mod verdict;
pub(crate) mod whole;
