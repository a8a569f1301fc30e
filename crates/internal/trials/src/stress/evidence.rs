//! The evidence of a round: what its threads wrote down.

use crate::stress::changer::Change;
use crate::stress::record::Record;
use crate::stress::scenario::Scenario;
use nanopace::{Counters, Ledger, Nanos};

/// What is known about a round when it is over.
pub(crate) struct Evidence {
    pub(crate) scenario: Scenario,
    /// The readings around the moment at which the schedule began.
    pub(crate) born: (Nanos, Nanos),
    /// When slot 0 was meant to start.
    pub(crate) origin: Nanos,
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// When the first slot that has not been taken is due. Nothing if there were too many to take
    /// all that were due.
    pub(crate) next: Option<Nanos>,
    pub(crate) at_rest: Totals,
    /// The readings around the call of `close`.
    pub(crate) closed: (Nanos, Nanos),
}

/// Ledger and counters, with the readings around them.
pub(crate) struct Totals {
    pub(crate) before: Nanos,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
    pub(crate) after: Nanos,
}
