//! Holds the evidence of a round: its calls, its changes, and the ledger and counters at its end.

use crate::stress::changer::Change;
use crate::stress::record::Record;
use crate::stress::scenario::Scenario;
use nanopace::{Counters, Ledger, Nanos};

pub(crate) struct Evidence {
    pub(crate) scenario: Scenario,
    /// The readings of the clock before and after the schedule began.
    pub(crate) born: (Nanos, Nanos),
    pub(crate) origin: Nanos,
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// The time at which the first slot that was not started becomes due. `None` if the pacer was closed early, or if
    /// too many slots were due at the end to start them all.
    pub(crate) next: Option<Nanos>,
    pub(crate) at_rest: Totals,
    pub(crate) closed: (Nanos, Nanos),
}

pub(crate) struct Totals {
    pub(crate) before: Nanos,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
    pub(crate) after: Nanos,
}
