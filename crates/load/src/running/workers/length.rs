//! How long a run is.

use std::time::Duration;

/// How slots lie, so that gaps between starts can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    Even,
    /// As Poisson arrivals, all of them.
    Poisson,
    Other,
}

/// The length of a run, and how its slots lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    /// Started but not recorded, at the beginning.
    pub(crate) warmup: Duration,
    /// For how long slots are started and recorded; `Duration::MAX` for no limit.
    pub(crate) duration: Duration,
    /// How many recorded slots may start; none for no limit.
    pub(crate) slots: Option<u64>,
    /// The same number if these are the first slots after the warm-up, whichever is decided about first.
    pub(crate) first: Option<u64>,
    /// How slots lie around the load.
    pub(crate) spacing: Spacing,
    /// Whether the intervals between slots are equal, but for changes of the rate.
    pub(crate) is_steady: bool,
    /// The slots per second of a load that is a constant rate, until it is changed.
    pub(crate) constant_hz: Option<f64>,
    /// Whether there is no schedule, and what is started is what was asked for.
    pub(crate) is_closed: bool,
    /// Whether the last slot of the load ends the run.
    pub(crate) ends_with_load: bool,
    /// How long it is at most with a load that takes the place of this one; `Duration::MAX` for as
    /// long as that is.
    pub(crate) longest: Duration,
}
