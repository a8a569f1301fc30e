//! Formats the rate, the errors and the response times of a fleet for a status line.

use super::times::{AT_LEAST, NONE};
use crate::console::human::{self, float};
use crate::results::nodes::tellings::Done;
use crate::results::stats::OperationStats;
use nanopace::Shape;
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'fleet> {
    pub(crate) asked_hz: f64,
    pub(crate) achieved_hz: f64,
    pub(crate) stats: &'fleet OperationStats,
}

impl<'fleet> Pace<'fleet> {
    pub(crate) fn of(done: &'fleet Done, shape: &Shape) -> Pace<'fleet> {
        let (from, to) = done.span;
        let asked = shape.count_at(to) - shape.count_at(from);
        let seconds = to.saturating_sub(from).as_secs_f64();
        Pace { asked_hz: asked / seconds, achieved_hz: done.hz, stats: &done.stats }
    }

    pub(crate) fn time(&self, quantile: f64) -> String {
        self.stats.responses().shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned())
    }

    pub(crate) fn errors(&self) -> String {
        let share = float(self.stats.failed()) / float(self.stats.started());
        if share.is_finite() { human::percent(share) } else { NONE.to_owned() }
    }
}

impl Display for Pace<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [achieved, asked] = [self.achieved_hz, self.asked_hz].map(human::short_hz);
        write!(f, "{achieved} of {asked}, errors {}, p99 {}", self.errors(), self.time(0.99))
    }
}
