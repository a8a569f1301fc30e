//! Describes a requested run in one line.

use std::fmt::{self, Display, Formatter};

/// The run as it was requested.
#[derive(Clone, Debug)]
pub(crate) struct RunTitle {
    /// The target of the requests; the first one, if there are several.
    pub(crate) url: String,
    /// The load at the beginning.
    pub(crate) load: String,
    /// The number of connections, and how late requests catch up.
    pub(crate) by: String,
}

impl Display for RunTitle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let RunTitle { url, load, by } = self;
        write!(f, "{url}: {load}, {by}")
    }
}
