//! What may be asked of a run while it goes on, by keys or by programs.

use nanopace::{Rate, Shape};

/// What is asked for.
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
    /// Follow this shape, from its beginning.
    SetShape(Shape),
    /// End the schedule; when it has ended already, give up the answers that are missing.
    Stop,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The schedule has not started.
    NotStarted,
    /// The workers have gone: nobody would start what is asked for from now on.
    NoRequestsLeft,
    /// The number of slots in the warm-up is fixed, so that it is known which slots come after it.
    WarmUp,
    /// A closed loop has no schedule to change.
    ClosedLoop,
    /// The schedule has ended.
    Over,
    /// The fleet can't, for this reason.
    Fleet(String),
}

impl Refusal {
    /// Why, in words.
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
