//! Defines the actions that users and programs can request of a run in progress.

use nanopace::{Rate, Shape};

/// A requested action.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Raise the rate a little.
    Faster,
    /// Lower the rate a little.
    Slower,
    Pause,
    Resume,
    /// Pause, or resume if paused.
    TogglePause,
    /// Change to this rate.
    SetRate(Rate),
    /// Follow this shape from its beginning.
    SetShape(Shape),
    /// End the schedule. If it has already ended, give up the requests in flight.
    Stop,
}

/// Why an action was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The schedule has not started.
    NotStarted,
    /// The workers have ended, so no more requests can start.
    NoRequestsLeft,
    /// With `--requests`, the warm-up has a fixed number of slots, so the load cannot change during it.
    WarmUp,
    /// A closed loop has no schedule to change.
    ClosedLoop,
    /// The schedule has ended.
    Over,
    /// The fleet rejected the action, for this reason.
    Fleet(String),
}

impl Refusal {
    /// Returns the reason as text.
    pub(crate) fn text(&self) -> &str {
        match self {
            Refusal::NotStarted => "the schedule has not started yet",
            Refusal::NoRequestsLeft => "the load has no requests left",
            Refusal::WarmUp => "with --requests, the load can be changed only after the warm-up",
            Refusal::ClosedLoop => "--rate max has no rate to change: it is a closed loop",
            Refusal::Over => "the schedule has ended",
            Refusal::Fleet(why) => why,
        }
    }
}
