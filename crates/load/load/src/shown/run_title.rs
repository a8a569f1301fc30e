//! Describes a run in one line before it starts.

use std::fmt::{self, Display, Formatter};

#[derive(Clone, Debug)]
pub(crate) struct RunTitle {
    /// The first target, if there are several.
    pub(crate) url: String,
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
