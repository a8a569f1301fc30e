//! Defines the record of a worker's call.

use nanopace::{Grant, Nanos, Refused};
use std::time::Duration;

/// The kinds of calls that a worker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Acquire,
    TryAcquire,
    Timeout,
    Deadline,
    Many,
    Claim,
    Poller,
    Lane,
    /// A call at the end of the round, immediately after the previous one.
    Drain,
}

impl Call {
    /// All kinds of calls of a worker, in the order of a scenario's weights.
    pub(crate) const ALL: [Call; 8] = [
        Call::Acquire,
        Call::TryAcquire,
        Call::Timeout,
        Call::Deadline,
        Call::Many,
        Call::Claim,
        Call::Poller,
        Call::Lane,
    ];
}

/// A call and its result, with readings of the clocks around the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) call: Call,
    /// The number of the lane; 0 for calls on the pacer.
    pub(crate) lane: u64,
    /// The number of requested slots.
    pub(crate) slots: u32,
    /// A moment that is not later than the deadline of the call, or the due time that a claim reported.
    pub(crate) limit: Nanos,
    /// The readings of the pacer's clock before and after the call.
    pub(crate) before: Nanos,
    pub(crate) after: Nanos,
    /// The time on the operating system's clock after the call, since a moment before the pacer was made.
    pub(crate) real: Duration,
    pub(crate) answer: Result<Grant, Refused>,
}

/// Slots that a call started, and their times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) slots: u64,
    pub(crate) intended: u64,
    pub(crate) actual: u64,
}

impl Record {
    /// Returns the start if the call was granted.
    pub(crate) fn start(&self) -> Option<Start> {
        let grant = self.answer.ok()?;
        Some(Start {
            slots: u64::from(self.slots),
            intended: grant.intended_start().as_nanos(),
            actual: grant.actual_start().as_nanos(),
        })
    }

    /// Returns whether the call began and ended between these moments.
    pub(crate) fn lies_within(&self, from: Nanos, to: Nanos) -> bool {
        self.before > from && self.after < to
    }
}
