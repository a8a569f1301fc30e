//! Marks errors about servers that cannot be reached. These errors have their own exit status.

use thiserror::Error;

#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Unreachable(pub(crate) String);
