//! Defines the actions that users and programs can request of a run in progress.

use nanopace::{Rate, Shape};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Faster,
    Slower,
    Pause,
    Resume,
    TogglePause,
    SetRate(Rate),
    SetShape(Shape),
    /// End the schedule. If it has already ended, give up the requests in flight.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotStarted,
    /// No slot is left that the action could change.
    NoRequestsLeft,
    /// With `--requests`, the warm-up has a fixed number of slots, so the load cannot change during it.
    WarmUp,
    ClosedLoop,
    Over,
    Fleet(String),
}

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        match self {
            Refusal::NotStarted => {
                "the schedule has not started yet: repeat this command when GET /status returns elapsed_seconds"
            }
            Refusal::NoRequestsLeft => "the load has no requests left",
            Refusal::WarmUp => "with --requests, the load can be changed only after the warm-up",
            Refusal::ClosedLoop => "--rate max is a closed loop, which has no rate to change",
            Refusal::Over => "the schedule has ended",
            Refusal::Fleet(why) => why,
        }
    }
}
