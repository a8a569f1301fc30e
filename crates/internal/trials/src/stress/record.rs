//! Defines the record of a worker's call.

use nanopace::{Grant, Nanos, Refused};
use std::time::Duration;

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
    /// A call after the workers have ended, to start the slots that are due.
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) call: Call,
    /// The number of the lane, or 0 for a call without a lane.
    pub(crate) lane: u64,
    pub(crate) slots: u32,
    /// A time that is not after the call's deadline, or the due time that a claim reported, or 0 for other calls.
    pub(crate) limit: Nanos,
    pub(crate) before: Nanos,
    pub(crate) after: Nanos,
    /// The time on the operating system's clock after the call, measured from before the pacer's creation.
    pub(crate) real: Duration,
    pub(crate) answer: Result<Grant, Refused>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) slots: u64,
    pub(crate) intended: u64,
    pub(crate) actual: u64,
}

impl Record {
    pub(crate) fn start(&self) -> Option<Start> {
        let grant = self.answer.ok()?;
        Some(Start {
            slots: u64::from(self.slots),
            intended: grant.intended_start().as_nanos(),
            actual: grant.actual_start().as_nanos(),
        })
    }

    pub(crate) fn lies_within(&self, from: Nanos, to: Nanos) -> bool {
        self.before > from && self.after < to
    }
}
