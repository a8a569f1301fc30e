//! What a node waits for before its run starts.

use crate::error::FleetError;
use std::fmt;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

/// A node that waits looks this often.
const LOOK: Duration = Duration::from_millis(20);

/// What a node waits for before its run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waits {
    /// For other nodes: so many are there, this one included, of so many.
    ForNodes {
        /// Nodes that are there.
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

/// The waiting of a node, which does not last longer than a limit.
pub(crate) struct Waiting<W> {
    watch: W,
    began: Instant,
    limit: Duration,
}

impl<W: FnMut(Waits) -> ControlFlow<()>> Waiting<W> {
    pub(crate) fn new(watch: W, limit: Duration) -> Waiting<W> {
        Waiting { watch, began: Instant::now(), limit }
    }

    /// A little longer, unless it has lasted too long or is broken off.
    pub(crate) fn goes_on(&mut self, waits: Waits) -> Result<(), FleetError> {
        if (self.watch)(waits).is_break() {
            return Err(FleetError::Waiting(waits));
        }
        if self.began.elapsed() >= self.limit {
            return Err(FleetError::NotStarted(self.limit, waits));
        }
        thread::sleep(LOOK);
        Ok(())
    }
}
