//! Marks errors about servers that are out of reach. They have an exit status of their own.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// The message about the target or the store of a fleet, which cannot be reached.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl Display for Unreachable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unreachable {}
