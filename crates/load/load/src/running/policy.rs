//! Defines the late policy of a run and the conditions under which the run ends early.

use crate::judged::criteria::{Criterion, Goal, Percentile};
use std::time::Duration;

/// The policy of a run.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The lateness above which slots are skipped, if there is such a limit.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all slots that are due before the end belong to the run. If so,
    /// the number of skipped slots is known exactly.
    pub(crate) keeps_slots: bool,
    /// The requirements that can end the run.
    pub(crate) deciding: Option<Deciding>,
    /// The goal whose reaching ends the run.
    pub(crate) goal: Option<Goal>,
    /// The percentile with which the generator's own delay is compared.
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
