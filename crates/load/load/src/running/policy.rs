//! Defines the late policy of a run and the conditions under which the run ends early.

use crate::judged::criteria::{Goal, Percentile};
use std::time::Duration;

/// The late policy of a run, and the conditions under which it ends early.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The lateness above which slots are skipped, if there is such a limit.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all slots that are due before the end belong to the run. If so,
    /// the number of skipped slots is known exactly.
    pub(crate) keeps_slots: bool,
    /// The maximum number of failures. If more requests fail, the run ends.
    pub(crate) most_failures: f64,
    /// The goal that ends the run when it is reached, if there is one.
    pub(crate) goal: Option<Goal>,
    /// The percentile with which the generator's own delay is compared.
    pub(crate) reported: Percentile,
}
