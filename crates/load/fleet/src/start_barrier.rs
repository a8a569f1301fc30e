//! The conditions that a node waits for before its run starts.

use std::fmt;

/// The condition that a node waits for before its run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// The node waits for others.
    ForNodes {
        /// Nodes that are there, this one included.
        here: u32,
        /// Nodes that have to be there.
        awaited: u32,
    },
    /// For another run of the same name, whose load is over, and some of whose nodes are not done.
    ForTheEnd,
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waits::ForNodes { here, awaited } => write!(f, "{here} of {awaited} nodes are here"),
            Waits::ForTheEnd => f.write_str(
                "the run of this name before is not over yet, its last nodes are awaited",
            ),
        }
    }
}
