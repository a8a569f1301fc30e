//! What a run is, in a line.

use std::fmt::{self, Display, Formatter};

/// The run as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    /// Where requests go; the first place, if there are several.
    pub(crate) url: String,
    /// The load at the beginning.
    pub(crate) load: String,
    /// Over how many connections, and how it catches up.
    pub(crate) by: String,
}

impl Display for Headline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Headline { url, load, by } = self;
        write!(f, "{url}: {load}, {by}")
    }
}
