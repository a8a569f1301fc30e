//! Defines the conditions for which a node waits before its run starts.

use std::fmt;

/// The condition for which a node waits before its run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// The node waits for other nodes to join.
    ForNodes {
        /// The number of nodes that have joined, including this one.
        here: u32,
        /// The number of nodes that must join before the run starts.
        awaited: u32,
    },
    /// The node waits for the end of an earlier run with the same name. The load of that run has ended, but some of its
    /// nodes have not finished, or the run had several nodes and ended less than two seconds ago.
    ForTheEnd,
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waits::ForNodes { here, awaited } => {
                write!(f, "nodes that have joined: {here} of {awaited}")
            }
            Waits::ForTheEnd => f.write_str("an earlier run with this name has not ended yet"),
        }
    }
}
