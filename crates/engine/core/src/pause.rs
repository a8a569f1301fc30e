//! Holds an early caller back until its slot may start.

mod busy;
mod caller_pause;
mod estimates;
mod forecast;
mod hybrid;
mod pausing;
mod permits;
mod slack;
mod sleep;
mod strategy;

use crate::Nanos;
pub(crate) use caller_pause::CallerPause;
pub(crate) use pausing::Pausing;
pub use strategy::{Pause, PauseError};

/// Returns the time at which the pause ended.
pub(crate) fn run(pause: &CallerPause<'_>) -> Nanos {
    match pause.pausing.strategy {
        // No caller spins while the pacer is paused.
        _ if pause.plan.is_paused() => sleep::until(pause, pause.until()),
        Pause::Sleep => sleep::run(pause),
        Pause::Hybrid => hybrid::run(pause),
        Pause::Yield => busy::yield_until_due(pause),
        Pause::Spin => busy::spin(pause),
    }
}
