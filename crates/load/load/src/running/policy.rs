//! Defines the late policy of a run, and the conditions that end the run early.

use crate::judged::criteria::{Goal, Percentile};
use std::time::Duration;

/// The late policy of a run, and its conditions for ending early.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The lateness above which slots are skipped.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all slots that are due before the end belong to the run. If so,
    /// the number of skipped slots is known exactly.
    pub(crate) keeps_slots: bool,
    /// The largest number of failures. With more, the run ends.
    pub(crate) most_failures: f64,
    /// The goal that ends the run when it is reached.
    pub(crate) goal: Option<Goal>,
    /// The percentile with which the generator's own delay is compared.
    pub(crate) reported: Percentile,
}
