//! Presents the results of searches.

pub(crate) mod answer;
pub(crate) mod chart;
pub(crate) mod object;
pub(crate) mod plot;
pub(crate) mod report;
