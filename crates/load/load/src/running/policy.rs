//! The policy of a run for late slots, and the conditions that end it early.

use crate::judged::criteria::{Criterion, Goal, Percentile};
use std::time::Duration;

/// The policy of a run.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Slots that are later than this are skipped.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all that are due before the end belong to the
    /// run. Then it is known exactly how many were skipped.
    pub(crate) keeps_slots: bool,
    /// The requirements that can end the run.
    pub(crate) deciding: Option<Deciding>,
    /// The goal whose reaching ends the run.
    pub(crate) goal: Option<Goal>,
    /// The percentile that its own delays are put beside.
    pub(crate) reported: Percentile,
}

/// Requirements that end a run as soon as they are decided, whatever the results of the other requests are.
#[derive(Clone, Debug)]
pub(crate) struct Deciding {
    /// One of these is lost.
    pub(crate) criteria: Vec<Criterion>,
    /// Whether the run is a step of a search, which also ends when all of them are certain to hold.
    pub(crate) is_search: bool,
    /// How many requests are recorded at most if the load is not changed. None if that is not known.
    pub(crate) most_requests: Option<u64>,
}
