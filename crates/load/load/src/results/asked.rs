//! Counts how much of the load was requested between two times of a run.

use nanopace::{Ledger, Nanos};

/// The load from its start to some time, as the pacer counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AskedLoad {
    /// The number of slots whose intended start is before that time. Shifts by a late policy do not count.
    pub(crate) slots: u64,
    /// The requested slots and the elapsed fraction of the next one. For random arrivals, the expected number of slots.
    pub(crate) count: f64,
}

impl AskedLoad {
    pub(crate) fn since(self, earlier: AskedLoad) -> AskedLoad {
        AskedLoad {
            slots: self.slots.saturating_sub(earlier.slots),
            count: (self.count - earlier.count).max(0.0),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    pub(crate) at: Nanos,
    /// The end of the load if it ended, otherwise `at`. A run ends later than its load if the last slot started late.
    pub(crate) asked_until: Nanos,
    /// The load up to `asked_until`, including the warm-up.
    pub(crate) asked: AskedLoad,
    pub(crate) recorded: AskedLoad,
    /// The number of recorded slots that must have started if no slot was late.
    pub(crate) required: f64,
    /// The pacer's ledger when the end was noticed, without the time after the end. If the last recorded slot was
    /// admitted, the ledger ends up to one interval earlier.
    pub(crate) ledger: Ledger,
}
