//! Judges runs: the verdict, the requirements, the summary; decides what a search does next.

pub(crate) mod advice;
pub(crate) mod checks;
pub(crate) mod comparison;
pub(crate) mod criteria;
pub(crate) mod headline;
pub(crate) mod search;
pub(crate) mod shortages;
pub(crate) mod summary;
pub(crate) mod verdict;
pub(crate) mod whole;
