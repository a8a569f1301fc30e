//! Presents runs and their results in all formats.

pub(crate) mod compared;
pub(crate) mod comparison;
pub(crate) mod confidence;
pub(crate) mod csv_log;
pub(crate) mod curve;
mod details;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod fleet;
pub(crate) mod hdr_log;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod keys;
pub(crate) mod labels;
pub(crate) mod live;
pub(crate) mod logs;
pub(crate) mod markdown;
pub(crate) mod metrics;
pub(crate) mod own_times;
pub(crate) mod pace;
pub(crate) mod page;
pub(crate) mod rates;
pub(crate) mod repetition;
pub(crate) mod report;
pub(crate) mod run_title;
pub(crate) mod screen;
pub(crate) mod search;
pub(crate) mod snapshot;
pub(crate) mod spectrum;
pub(crate) mod standing;
pub(crate) mod status;
pub(crate) mod times;
mod typed;
