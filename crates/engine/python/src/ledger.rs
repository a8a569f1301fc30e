//! Defines the class `Ledger`: the account of the schedule's time and slots.

use pyo3::prelude::*;
use std::time::Duration;

/// The account of a pacer's time and slots at the time of the call. Times are in nanoseconds: elapsed = allocated +
/// idle + waiting + backlog.
#[pyclass(frozen, get_all, eq, module = "nanopace")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// The schedule time since the start, without pauses.
    elapsed_ns: u64,
    /// The part of the elapsed time that belongs to slots that were claimed or skipped.
    allocated_ns: u64,
    /// The time that a late policy has forfeited.
    idle_ns: u64,
    /// The time that is owed under a burst ratio.
    waiting_ns: u64,
    /// The time of slots that were due and not claimed.
    backlog_ns: u64,
    /// The number of slots that were claimed, without those that were given back or skipped.
    granted: u64,
    /// The number of slots that were skipped because they were too late.
    skipped: u64,
    /// The number of slots that were due and not claimed.
    backlog_slots: u64,
    /// The number of slots that started early, by less than the sleep threshold.
    early_starts: u64,
}

impl Ledger {
    pub(crate) fn of(pacer: &nanopace::Pacer) -> Ledger {
        let ledger = pacer.ledger();
        Ledger {
            elapsed_ns: nanos(ledger.elapsed),
            allocated_ns: nanos(ledger.allocated),
            idle_ns: nanos(ledger.idle),
            waiting_ns: nanos(ledger.waiting),
            backlog_ns: nanos(ledger.backlog),
            granted: ledger.granted,
            skipped: ledger.skipped,
            backlog_slots: ledger.backlog_slots,
            early_starts: pacer.counters().early_starts,
        }
    }
}

#[pymethods]
impl Ledger {
    fn __repr__(&self) -> String {
        format!("{self:?}").replace(" { ", "(").replace(": ", "=").replace(" }", ")")
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
