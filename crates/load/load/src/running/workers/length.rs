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

/// The slots of a load that a number of requests is about. The pacer ends with the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The number in the whole load of the first slot that may be one of them. Those before it are warm-up.
    pub(crate) first: u64,
    /// How many slots of this process are warm-up.
    pub(crate) warm_up: u64,
    /// How many slots of this process follow.
    pub(crate) slots: u64,
    /// Whether those that are late may be skipped.
    pub(crate) may_skip: bool,
}

impl Counted {
    /// How many slots this process has, warm-up included.
    pub(crate) fn all(&self) -> u64 {
        self.warm_up.saturating_add(self.slots)
    }
}

/// The length of a run, and how its slots lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    /// Started but not recorded, at the beginning.
    pub(crate) warmup: Duration,
    /// For how long slots are started and recorded; `Duration::MAX` for no limit.
    pub(crate) duration: Duration,
    /// How many slots this process has at most, warm-up included; none without a limit, or if it is not known.
    pub(crate) most: Option<u64>,
    /// The requests that end the run by their number, in an open loop.
    pub(crate) counted: Option<Counted>,
    /// How many recorded slots may start in a closed loop; none for no limit.
    pub(crate) slots: Option<u64>,
    /// How slots lie around the load.
    pub(crate) spacing: Spacing,
    /// Whether the intervals between slots are equal, except for changes of the rate.
    pub(crate) is_steady: bool,
    /// The slots per second of a load that is a constant rate, until it is changed.
    pub(crate) constant_hz: Option<f64>,
    /// Whether there is no schedule, and the requested load is what was started.
    pub(crate) is_closed: bool,
    /// Whether the last slot of the load ends the run.
    pub(crate) ends_with_load: bool,
    /// How long it is at most with a load that takes the place of this one; `Duration::MAX` for as
    /// long as that is.
    pub(crate) longest: Duration,
}
