//! Defines an operation, from its slot to its end.

use crate::load::details::Details;
use crate::load::kind::FailureKind;
use crate::load::target::{Done, Failure};
use nanopace::Nanos;
use std::time::Duration;

/// The result of an operation, with its details.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Success, or the kind of the failure.
    pub(crate) outcome: Result<(), FailureKind>,
    /// The time at which the request was sent. This is later than the start if a connection had to be opened.
    pub(crate) sent: Nanos,
    pub(crate) details: Details,
    /// The time for which the operation blocked a thread that other sessions needed.
    pub(crate) held: Duration,
    /// Whether the connection to the target was established.
    pub(crate) is_connected: bool,
}

impl Answer {
    /// Creates the result of a call that was sent at `sent`, unless the call reports its own send time.
    pub(crate) fn new(sent: Nanos, called: Result<Done, Failure>) -> Answer {
        let Done { details, sent: told } = called.unwrap_or_else(|failure| failure.done);
        let outcome = called.map(drop).map_err(|failure| failure.kind());
        let is_connected = !called.is_err_and(|failure| failure.is_unconnected);
        Answer { outcome, sent: told.unwrap_or(sent), details, held: Duration::ZERO, is_connected }
    }

    /// Creates the result of a successful call that was sent at `sent`.
    #[cfg(test)]
    pub(crate) fn completed(sent: Nanos) -> Answer {
        Answer::new(sent, Ok(Done::new()))
    }
}

/// An operation that ended with a response or a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// The intended start of the operation.
    pub(crate) intended_start: Nanos,
    /// The time at which the operation ended.
    pub(crate) end: Nanos,
    /// The result of the operation.
    pub(crate) answer: Answer,
}

impl Operation {
    /// Returns the time from sending to the end. The time to open a connection before sending does not count.
    pub(crate) fn service_time(&self) -> Duration {
        self.end - self.answer.sent
    }

    /// Returns the time from the intended start to the end.
    pub(crate) fn response_time(&self) -> Duration {
        self.end - self.intended_start
    }
}
