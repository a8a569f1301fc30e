//! Decides before the end of a run whether a criterion is certain to be missed, or certain to hold, at the end.
//!
//! The value of a figure at the end of the run lies in a range. One end of the range is the value if all further
//! requests have the best possible results, and the other end is the value if they have the worst possible results.
//! Both are computed by the code that computes the figure, so ranks are rounded as in the report, and times are as
//! exact as in the histograms. A run that ends early also has a value in this range. Some figures, such as rates, gaps
//! and lateness, have no range, so no criterion about them is decided before the end.

use super::figure::{Figure, Single, Statistic, Value};
use super::operator::Operator;
use super::times::Times;
use super::{Criterion, Figures};
use crate::console::human::float;
use crate::results::labels::OTHERS;
use crate::results::percentiles::{GROWS, Sample};
use crate::results::stats::OperationStats;
use hdrhistogram::Histogram;

/// A number of requests that no run exceeds: 1 million per second for 35 years. An `f64` represents integers of up to 8
/// times this size exactly.
const MANY: u64 = 1 << 50;

/// The number of requests that can still start, and the number of requests that can still end.
type Remaining = [u64; 2];

/// The range of a figure at the end of the run. If some times are only lower bounds, each end of the range is a range
/// itself.
struct Range {
    low: Value,
    high: Value,
}

impl Range {
    fn new([low, high]: [f64; 2]) -> Range {
        let [low, high] = [low, high].map(|at| Value { least: at, most: at, bounds: (0, 0) });
        Range { low, high }
    }
}

impl Criterion {
    /// Returns whether the criterion is certain to be missed. `most` is the maximum number of requests of the run, or
    /// `None` if there is no maximum.
    pub(crate) fn is_lost(&self, figures: &Figures<'_>, most: Option<u64>) -> bool {
        let limit = self.limit.value;
        self.range(figures, most).is_some_and(|Range { low, high }| match self.operator {
            Operator::Below | Operator::AtMost => !self.holds(low.most),
            Operator::Above | Operator::AtLeast => !self.holds(high.least),
            Operator::Equal => !(low.most..=high.least).contains(&limit),
        })
    }

    pub(crate) fn is_lost_without_waiting(&self, figures: &Figures<'_>, most: Option<u64>) -> bool {
        let without = Criterion { figure: self.figure.without_waiting(), ..self.clone() };
        !self.figure.is_about_waiting() && without.is_lost(figures, most)
    }

    /// Returns whether the results during a run can decide about the criterion.
    pub(crate) fn can_end_run(&self) -> bool {
        let stats = OperationStats::new();
        let range = || self.figure.range(&Figures::so_far(&stats), [MANY; 2]);
        self.label.as_deref() != Some(OTHERS) && range().is_some()
    }

    pub(crate) fn is_certain(&self, figures: &Figures<'_>, most: Option<u64>) -> bool {
        let is_certain = |Range { low, high }| match self.operator {
            Operator::Below | Operator::AtMost => self.holds(high.most),
            Operator::Above | Operator::AtLeast => self.holds(low.least),
            Operator::Equal => false,
        };
        self.actual(figures).is_some() && self.range(figures, most).is_some_and(is_certain)
    }

    /// Returns the range of the figure at the end of the run, or `None` if any value is possible. The number of
    /// operations with a label has no limit, because one request may contain several operations with the same label.
    /// The range for the label [`OTHERS`] is unknown, because it depends on the order in which labels first occur.
    fn range(&self, figures: &Figures<'_>, most: Option<u64>) -> Option<Range> {
        match &self.label {
            None => {
                let so_far = [figures.due, figures.response.times.len()];
                let left = |so_far| most.map_or(MANY, |most| most.saturating_sub(so_far));
                self.figure.range(figures, so_far.map(left))
            }
            Some(label) if label == OTHERS => None,
            Some(label) => self.figure.range(&figures.of_label(label)?, [MANY; 2]),
        }
    }
}

impl Figure {
    fn range(self, figures: &Figures<'_>, remaining: Remaining) -> Option<Range> {
        let (statistic, times) = match self {
            Figure::Of(statistic, times) => (statistic, times),
            Figure::Confidence(..) => return None,
            Figure::Single(single) => return single.range(figures, remaining).map(Range::new),
        };
        let more = match times {
            Times::Wait => remaining[0],
            Times::Service | Times::Response => remaining[1],
            Times::Setup | Times::Of(_) => MANY,
        };
        Some(statistic.range(figures.times(times)?, more))
    }
}

impl Statistic {
    /// Returns the range of the statistic if up to `more` further times of any length are recorded.
    fn range(self, sample: Sample<'_>, more: u64) -> Range {
        let so_far = float(sample.times.len());
        if self == Statistic::Count {
            return Range::new([so_far, so_far + float(more)]);
        }
        let times = with_zeros(sample.times.clone(), more);
        let Some(low) = self.value(Sample { times: &times, ..sample }) else {
            return Range::new([f64::NAN; 2]);
        };
        if more == 0 {
            return Range { low, high: low };
        }
        // Each further time may be only a lower bound, and the time that it bounds may be infinite.
        let bounds = sample.bounds.cloned().unwrap_or_else(|| Histogram::new_from(&times));
        let bounds = with_zeros(bounds, more);
        let high = self.value(Sample::bounded(&times, &bounds)).unwrap_or(low);
        Range { low, high: Value { least: f64::INFINITY, ..high } }
    }
}

fn with_zeros(mut times: Histogram<u64>, zeros: u64) -> Histogram<u64> {
    if zeros > 0 {
        times.record_n(0, zeros).expect(GROWS);
    }
    times
}

impl Single {
    fn range(self, figures: &Figures<'_>, [starts, ends]: Remaining) -> Option<[f64; 2]> {
        let up_to = |so_far: u64, more: u64| [float(so_far), float(so_far.saturating_add(more))];
        Some(match self {
            Single::Due => up_to(figures.due, starts),
            Single::Started => up_to(figures.started, starts),
            Single::Unstarted => up_to(figures.unstarted, starts),
            Single::Skipped => up_to(figures.skipped, starts),
            Single::Completed => up_to(figures.completed, ends),
            Single::Failed => up_to(figures.failed, ends),
            Single::Unfinished => up_to(figures.unfinished, ends),
            Single::Retried => [float(figures.retried), f64::INFINITY],
            Single::Errors => {
                let [_, started] = up_to(figures.started, starts);
                up_to(figures.failed, ends).map(|failed| failed / started)
            }
            // The lowest ratio results if all further slots fall due and none of them is started. The highest is
            // unknown, so it is infinite.
            Single::Ratio => {
                let [_, due] = up_to(figures.due, starts);
                [float(figures.started) / due, f64::INFINITY]
            }
            Single::Gaps
            | Single::Achieved
            | Single::TargetLateness
            | Single::GeneratorLateness => return None,
        })
    }
}

#[cfg(test)]
mod tests;
