//! Defines the late policy of a run and the conditions under which the run ends early.

use crate::judged::criteria::{Criterion, Goal, Percentile};
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts until the end, so that the number of skipped slots is known exactly.
    pub(crate) keeps_slots: bool,
    pub(crate) deciding: Option<Deciding>,
    pub(crate) goal: Option<Goal>,
    /// The percentile that the generator's own delay is compared with.
    pub(crate) reported: Percentile,
}

#[derive(Clone, Debug)]
pub(crate) struct Deciding {
    /// The run ends when one of these criteria is certain to be missed.
    pub(crate) criteria: Vec<Criterion>,
    /// Whether the run is a step of a search. A step also ends when all requirements are certain to hold.
    pub(crate) is_search: bool,
    /// The maximum number of recorded requests if the load is not changed, or `None` if it is unknown.
    pub(crate) most_requests: Option<u64>,
}
