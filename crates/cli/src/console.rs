//! What the commands of the program share at the console: numbers for people to read, charts
//! of characters, the live line, and where results are written.

pub(crate) mod chart;
pub(crate) mod human;
mod log_file;
mod output;
mod place;
mod progress;
mod result_file;

pub(crate) use log_file::LogFile;
pub(crate) use output::Output;
pub(crate) use place::{is_stdout, keep_apart};
pub(crate) use progress::Progress;
pub(crate) use result_file::ResultFile;
