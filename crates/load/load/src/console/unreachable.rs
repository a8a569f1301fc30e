//! Marks errors about servers that cannot be reached. These errors have their own exit status.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl Display for Unreachable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unreachable {}
