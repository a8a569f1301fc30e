//! One operation, from its slot to its end.

use crate::load::details::Details;
use crate::load::kind::FailureKind;
use crate::load::target::{Done, Failure};
use nanopace::Nanos;
use std::time::Duration;

/// How an operation went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Success, or the kind of failure.
    pub(crate) outcome: Result<(), FailureKind>,
    /// When it was sent: later than its start if a connection had to be opened.
    pub(crate) sent: Nanos,
    pub(crate) details: Details,
    /// How long it held a thread at a time that other sessions needed.
    pub(crate) held: Duration,
    /// Whether the target was connected to.
    pub(crate) is_connected: bool,
}

impl Answer {
    /// The result of a call that was sent at `sent`, unless it has a send time of its own.
    pub(crate) fn new(sent: Nanos, called: Result<Done, Failure>) -> Answer {
        let Done { details, sent: told } = called.unwrap_or_else(|failure| failure.done);
        let outcome = called.map(drop).map_err(|failure| failure.kind());
        let is_connected = !called.is_err_and(|failure| failure.is_unconnected);
        Answer { outcome, sent: told.unwrap_or(sent), details, held: Duration::ZERO, is_connected }
    }

    /// Success of what was sent then.
    #[cfg(test)]
    pub(crate) fn completed(sent: Nanos) -> Answer {
        Answer::new(sent, Ok(Done::new()))
    }
}

/// An operation that ended with an answer or a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// When the schedule wanted it to start.
    pub(crate) intended_start: Nanos,
    /// When it ended.
    pub(crate) end: Nanos,
    /// How it went.
    pub(crate) answer: Answer,
}

impl Operation {
    /// How long the answer took. Between its start and this, its connection was opened.
    pub(crate) fn service_time(&self) -> Duration {
        self.end - self.answer.sent
    }

    /// How long after its intended start it was done.
    pub(crate) fn response_time(&self) -> Duration {
        self.end - self.intended_start
    }
}
