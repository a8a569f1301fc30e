//! How a caller that is early is held back.
//!
//! Each strategy is a file: [`sleep`], [`hybrid`], [`yielding`], [`spin`]. All of them hold a caller until its moment comes or
//! the plan changes, and answer to nothing else; only they give up the processor.

mod hybrid;
mod sleep;
mod spin;
mod yielding;

use crate::Nanos;
use crate::clock::Clock;
use crate::sleepers::Sleepers;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How a caller that is early is held back: what it costs against how exactly it starts.
///
/// A pacer that is itself paused always lets its callers sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pause {
    /// Sleep until the intended start; the default. Costs next to nothing, starts about 50 us late where the operating
    /// system groups its timers; what is overslept is caught up, so the rate stays exact.
    #[default]
    Sleep,
    /// Sleep until shortly before, then spin. Starts within a microsecond while a core is free; costs up to 100 us of
    /// processor time for every pause.
    Hybrid,
    /// Give the processor to whoever wants it, again and again. For a machine with more threads than cores where
    /// sleeping is too coarse; takes all the processor time nobody else wants.
    Yield,
    /// Spin. The most exact; for a thread that has a core to itself, and burns it.
    Spin,
}

/// Why a text is not a [`Pause`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a way to pause: write sleep, hybrid, yield or spin")]
pub struct PauseError(String);

impl FromStr for Pause {
    type Err = PauseError;

    fn from_str(text: &str) -> Result<Pause, PauseError> {
        [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin]
            .into_iter()
            .find(|pause| pause.to_string() == text)
            .ok_or_else(|| PauseError(text.to_owned()))
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Pause::Sleep => "sleep",
            Pause::Hybrid => "hybrid",
            Pause::Yield => "yield",
            Pause::Spin => "spin",
        })
    }
}

/// One caller to be held back until `until`, as long as its plan is the current one.
pub(crate) struct Hold<'a, F: Fn() -> bool> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) sleepers: &'a Sleepers,
    /// Whose turn it is: sleepers are woken in this order.
    pub(crate) position: u64,
    pub(crate) until: Nanos,
    pub(crate) is_current: F,
}

impl Pause {
    pub(crate) fn hold<F: Fn() -> bool>(self, hold: &Hold<'_, F>) {
        match self {
            _ if hold.until == Nanos::MAX => sleep::hold(hold, hold.until),
            Pause::Sleep => sleep::hold(hold, hold.until),
            Pause::Hybrid => hybrid::hold(hold),
            Pause::Yield => yielding::hold(hold),
            Pause::Spin => spin::hold(hold),
        }
    }
}

impl<F: Fn() -> bool> Hold<'_, F> {
    fn goes_on(&self) -> bool {
        (self.is_current)() && self.clock.now() < self.until
    }
}
