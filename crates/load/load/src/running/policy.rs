//! The policy of a run for late slots, and the conditions that end it early.

use crate::judged::criteria::{Goal, Percentile};
use std::time::Duration;

/// The policy of a run for late slots and for failures.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Slots that are later than this are skipped.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all that are due before the end belong to the
    /// run. Then it is known exactly how many were skipped.
    pub(crate) keeps_slots: bool,
    /// With more failures than this the run is over.
    pub(crate) most_failures: f64,
    /// The goal whose reaching ends the run.
    pub(crate) goal: Option<Goal>,
    /// The percentile that its own delays are put beside.
    pub(crate) reported: Percentile,
}
