//! The evidence of a round: the records of its threads.

use crate::stress::changer::Change;
use crate::stress::record::Record;
use crate::stress::scenario::Scenario;
use nanopace::{Counters, Ledger, Nanos};

/// The records of a round that is over.
pub(crate) struct Evidence {
    pub(crate) scenario: Scenario,
    /// The readings around the moment at which the schedule began.
    pub(crate) born: (Nanos, Nanos),
    /// When slot 0 was meant to start.
    pub(crate) origin: Nanos,
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// When the first slot that nobody has taken is due. None if not all due slots could be taken.
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
