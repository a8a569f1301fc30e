//! Recording: what is written down about each operation, and how it is collected from all workers.

pub(crate) mod attention;
mod burst;
#[cfg(test)]
mod causes;
pub(crate) mod collector;
pub(crate) mod csv_log;
pub(crate) mod hdr_log;
pub(crate) mod labels;
pub(crate) mod lateness;
pub(crate) mod logs;
mod moved;
pub(crate) mod operation;
pub(crate) mod outcome;
pub(crate) mod over_time;
pub(crate) mod recorder;
pub(crate) mod stats;
pub(crate) mod tally;
