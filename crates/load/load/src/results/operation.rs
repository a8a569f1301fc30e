//! Defines an operation, which begins with its slot and ends with its result.

use crate::load::details::Details;
use crate::load::kind::FailureKind;
use crate::load::target::{Done, Failure};
use nanopace::Nanos;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Result<(), FailureKind>,
    /// The time at which the request was sent. If a connection had to be opened, the request was sent after the start.
    pub(crate) sent: Nanos,
    pub(crate) details: Details,
    /// The longest time for which the call blocked its thread without a break, or zero if this is not measured.
    pub(crate) held: Duration,
    pub(crate) is_connected: bool,
}

impl Answer {
    /// Creates the result of a call. If the call does not report when it was sent, the time is `sent`.
    pub(crate) fn new(sent: Nanos, called: Result<Done, Failure>) -> Answer {
        let Done { details, sent: told } = called.unwrap_or_else(|failure| failure.done);
        let outcome = called.map(drop).map_err(|failure| failure.kind);
        let is_connected = !called.is_err_and(|failure| failure.is_unconnected);
        let (sent, held) = (told.unwrap_or(sent), Duration::ZERO);
        Answer { outcome, sent, details, held, is_connected }
    }

    #[cfg(test)]
    pub(crate) fn completed(sent: Nanos) -> Answer {
        Answer::new(sent, Ok(Done::new()))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) intended_start: Nanos,
    pub(crate) end: Nanos,
    pub(crate) answer: Answer,
}

impl Operation {
    /// Returns the service time. It does not include the time for opening a connection before the send.
    pub(crate) fn service_time(&self) -> Duration {
        self.end - self.answer.sent
    }

    pub(crate) fn response_time(&self) -> Duration {
        self.end - self.intended_start
    }
}
