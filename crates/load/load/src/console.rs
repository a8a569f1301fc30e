//! Formats figures, reads options and files, writes outputs, and handles signals, for all commands.

pub(crate) mod alternate;
pub(crate) mod axis;
pub(crate) mod chart;
pub(crate) mod config;
pub(crate) mod help;
mod hints;
pub(crate) mod human;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod json_object;
#[cfg(feature = "http")]
pub(crate) mod line_plot;
mod log_file;
pub(crate) mod machine;
mod output;
pub(crate) mod panics;
mod place;
pub(crate) mod position;
mod progress;
pub(crate) mod refusal;
mod result_file;
pub(crate) mod secret;

pub(crate) use log_file::LogFile;
pub(crate) use output::Output;
pub(crate) use place::{is_stdout, keep_apart};
pub(crate) use progress::Progress;
pub(crate) use result_file::{ResultFile, cannot_write};

use thiserror::Error;

/// A server that cannot be reached. This error has its own exit status.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Unreachable(pub(crate) String);
