//! How fast a fleet is, and what became of its requests.

use crate::console::human::{self, float};
use crate::run::recording::stats::OperationStats;
use crate::times::{AT_LEAST, NONE};
use std::fmt::{self, Display, Formatter};

/// What all nodes together do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'fleet> {
    pub(crate) asked_hz: f64,
    pub(crate) achieved_hz: f64,
    pub(crate) stats: &'fleet OperationStats,
}

impl Pace<'_> {
    /// The response time at this share, in words.
    pub(crate) fn time(&self, quantile: f64) -> String {
        self.stats.responses().shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned())
    }

    /// The share of the requests that failed, in words.
    pub(crate) fn errors(&self) -> String {
        let share = float(self.stats.failed()) / float(self.stats.started());
        if share.is_finite() { human::percent(share) } else { NONE.to_owned() }
    }
}

/// As a part of a line.
impl Display for Pace<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [achieved, asked] = [self.achieved_hz, self.asked_hz].map(human::short_hz);
        write!(f, "{achieved} of {asked}, errors {}, p99 {}", self.errors(), self.time(0.99))
    }
}
