//! Why a configuration could not be read or written.

use std::path::PathBuf;
use thiserror::Error;

/// Why a configuration could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not a configuration store, or it is damaged.
    #[error(
        "{path} is no intact configuration store ({reason}): restore it from a copy, or move it away to begin with none"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is no document of limits, or something in it is none.
    #[error("{path} is no document of limits: {reason}")]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// Another process or another store has the file open.
    #[error("{path} is open in another process or another store: close it there first")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The operating system could not read or write the file.
    #[error("{path} can't be read or written: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A store of another kind could not do it.
    #[error("the configuration can't be read or changed: {0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
}
