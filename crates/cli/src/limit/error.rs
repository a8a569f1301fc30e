//! Why a trial has no report.

use std::io;

/// Why there is no report.
#[derive(Debug)]
pub(crate) enum Error {
    /// What was asked for cannot be done, or the requests cannot be read.
    Input(anyhow::Error),
    /// Nothing more could be written.
    Output(io::Error),
}
