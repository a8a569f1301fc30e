//! Counts how much of the load was requested between the moments of a measurement.

use nanopace::{Ledger, Nanos};

/// The load from its beginning to a moment, as its pacer counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AskedLoad {
    /// How many slots have an intended start before the moment, if no policy moves them.
    pub(crate) slots: u64,
    /// `slots` with the part of the next slot that has passed by then. For random arrivals, the number of slots on
    /// average.
    pub(crate) count: f64,
}

impl AskedLoad {
    /// The part of it that came after an earlier moment.
    pub(crate) fn since(self, earlier: AskedLoad) -> AskedLoad {
        AskedLoad {
            slots: self.slots.saturating_sub(earlier.slots),
            count: (self.count - earlier.count).max(0.0),
        }
    }
}

/// The state at the end of the schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    /// The end on the schedule.
    pub(crate) at: Nanos,
    /// When the load ended, if it did; otherwise `at`. A run ends later than its load if the last slot started late.
    pub(crate) asked_until: Nanos,
    /// The load before that, with the warm-up.
    pub(crate) asked: AskedLoad,
    /// The part of it that is recorded.
    pub(crate) recorded: AskedLoad,
    /// How many of these must have started if none was late.
    pub(crate) required: f64,
    /// The pacer's ledger when the end was noticed, without what was due after it: up to an interval
    /// before it if the last recorded slot was admitted.
    pub(crate) ledger: Ledger,
}
