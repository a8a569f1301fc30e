//! Describes a run in one line before it starts.

use std::fmt::{self, Display, Formatter};

/// The target, the load and the connections of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunTitle {
    /// The target of the requests. If there are several, this is the first one.
    pub(crate) url: String,
    /// The load at the start.
    pub(crate) load: String,
    /// The number of connections, and the late policy.
    pub(crate) by: String,
}

impl Display for RunTitle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let RunTitle { url, load, by } = self;
        write!(f, "{url}: {load}, {by}")
    }
}
