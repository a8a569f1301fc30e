//! How a caller that is early is held back.
//!
//! Each strategy is a file: [`sleep`], [`hybrid`], [`yielding`], [`spin`]. All of them hold a
//! caller until its moment comes or the plan changes. Only they give up the processor.
//! [`estimates`] and [`forecast`] have what a thread learns from its own pauses, [`slack`] sets the
//! precision of timers, [`processor`] measures how much processor time a pause takes, and
//! [`permits`] limits how many threads spin at once.

mod estimates;
mod forecast;
mod hold;
mod hybrid;
mod pausing;
mod permits;
mod processor;
mod slack;
mod sleep;
mod spin;
mod strategy;
mod yielding;

use crate::Nanos;
pub(crate) use hold::Hold;
pub(crate) use pausing::Pausing;
pub use strategy::{Pause, PauseError};

/// Holds a caller back. Returns the moment at which that ended: the caller's moment or later, unless
/// a change of plan ended it.
pub(crate) fn run(hold: &Hold<'_>) -> Nanos {
    match hold.pausing.strategy {
        // No caller spins while the pacer is paused.
        _ if hold.plan.is_paused => sleep::until(hold, hold.until()),
        Pause::Sleep => sleep::hold(hold),
        Pause::Hybrid => hybrid::hold(hold),
        Pause::Yield => yielding::hold(hold),
        Pause::Spin => spin::hold(hold),
    }
}
