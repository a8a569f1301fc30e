//! Describes a run in one line before it starts.

use std::fmt::{self, Display, Formatter};

#[derive(Clone, Debug)]
pub(crate) struct RunTitle {
    /// The name of the target, such as its URL. If requests go to several URLs, it is the first one.
    pub(crate) url: String,
    pub(crate) load: String,
    pub(crate) is_closed: bool,
    /// The numbers of connections and threads, and the late policy or the name of the node.
    pub(crate) by: String,
}

impl Display for RunTitle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let RunTitle { url, load, by, .. } = self;
        write!(f, "{url}: {load}, {by}")
    }
}
