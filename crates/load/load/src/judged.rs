//! What is judged: how a run was, who was too slow, and whether it was as it is required to be.

pub(crate) mod checks;
pub(crate) mod comparison;
pub(crate) mod criteria;
pub(crate) mod search;
pub(crate) mod shortages;
pub(crate) mod summary;
pub(crate) mod verdict;
pub(crate) mod whole;
