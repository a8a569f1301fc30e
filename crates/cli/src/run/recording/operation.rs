//! One operation, from its slot to its end.

use crate::run::client::failure::Failure;
use crate::run::client::session::Answer;
use nanopace::Nanos;
use std::time::Duration;

/// An operation that ended with an answer or a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// When the schedule wanted it to start.
    pub(crate) intended_start: Nanos,
    /// When its request was sent. Between its start and this, its connection was opened.
    pub(crate) sent: Nanos,
    /// When it ended.
    pub(crate) end: Nanos,
    /// How the request went.
    pub(crate) answer: Answer,
}

impl Operation {
    /// How long the answer took.
    pub(crate) fn service_time(&self) -> Duration {
        self.end - self.sent
    }

    /// How long after its intended start it was done.
    pub(crate) fn response_time(&self) -> Duration {
        self.end - self.intended_start
    }

    /// Success, or why it failed.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.answer.outcome()
    }
}
