//! Defines an operation, from its slot to its end.

use crate::load::details::Details;
use crate::load::kind::FailureKind;
use crate::load::target::{Done, Failure};
use nanopace::Nanos;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Result<(), FailureKind>,
    /// The time at which the request was sent, which is after the start if a connection had to be opened.
    pub(crate) sent: Nanos,
    pub(crate) details: Details,
    /// The time for which the operation blocked a thread that other sessions needed.
    pub(crate) held: Duration,
    pub(crate) is_connected: bool,
}

impl Answer {
    /// `sent` is used unless the call reports its own send time.
    pub(crate) fn new(sent: Nanos, called: Result<Done, Failure>) -> Answer {
        let Done { details, sent: told } = called.unwrap_or_else(|failure| failure.done);
        let outcome = called.map(drop).map_err(|failure| failure.kind());
        let is_connected = !called.is_err_and(|failure| failure.is_unconnected);
        Answer { outcome, sent: told.unwrap_or(sent), details, held: Duration::ZERO, is_connected }
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
    /// The time to open a connection before sending does not count.
    pub(crate) fn service_time(&self) -> Duration {
        self.end - self.answer.sent
    }

    pub(crate) fn response_time(&self) -> Duration {
        self.end - self.intended_start
    }
}
