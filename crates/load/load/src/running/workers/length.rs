//! Defines the length of a run.

use std::time::Duration;

/// The distribution of intervals between slots, which measured gaps are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    Even,
    /// The slots are Poisson arrivals, and the load is not sharded.
    Poisson,
    Other,
}

/// The slots of a run with a fixed number of requests. The pacer ends with the last of these slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The number, in the whole load, of the first slot after the warm-up.
    pub(crate) first: u64,
    /// The number of this process's slots in the warm-up.
    pub(crate) warm_up: u64,
    /// The number of this process's slots after the warm-up.
    pub(crate) slots: u64,
    pub(crate) may_skip: bool,
}

impl Counted {
    pub(crate) fn all(&self) -> u64 {
        self.warm_up.saturating_add(self.slots)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    pub(crate) warmup: Duration,
    /// The duration of the recorded part after the warm-up. It is `Duration::MAX` without a limit.
    pub(crate) duration: Duration,
    /// The maximum number of this process's slots, including the warm-up, or `None` if it is unlimited or unknown.
    pub(crate) most: Option<u64>,
    pub(crate) counted: Option<Counted>,
    /// The maximum number of recorded slots in a closed loop, or `None` without a limit.
    pub(crate) slots: Option<u64>,
    pub(crate) spacing: Spacing,
    /// Whether the intervals between slots are equal, except for changes of the rate.
    pub(crate) is_steady: bool,
    /// The share of the load's slots that belongs to this process, above 0 and at most 1.
    pub(crate) share: f64,
    /// The number of slots per second of this process until the load is changed, or `None` if the rate is not constant.
    pub(crate) constant_hz: Option<f64>,
    /// A closed loop has no schedule, and all slots that started count as requested.
    pub(crate) is_closed: bool,
    pub(crate) ends_with_load: bool,
    /// The maximum duration of the recorded part after a new load has replaced this one. `Duration::MAX` if only the
    /// new load limits it.
    pub(crate) longest: Duration,
}
