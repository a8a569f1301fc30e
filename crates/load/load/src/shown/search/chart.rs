//! Draws the objective's figure at each rate that was tried, as a text chart.

use crate::console::human;
use crate::judged::search::judge::Promise;
use crate::judged::search::method::Outcome;
use crate::judged::search::results::{Results, rate};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

const LABEL: usize = 9;
const ROWS: usize = 12;

#[derive(Debug)]
pub(crate) struct Chart<'run> {
    pub(crate) results: &'run Results,
    pub(crate) promise: &'run Promise,
    pub(crate) width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogAxis {
    pub(crate) from: f64,
    pub(crate) to: f64,
}

pub(crate) fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "o",
        Outcome::Broken => "x",
        Outcome::Generator => "?",
    }
}

impl LogAxis {
    pub(crate) fn over(values: impl Iterator<Item = f64> + Clone) -> Option<LogAxis> {
        let (from, to) = (values.clone().reduce(f64::min)?, values.reduce(f64::max)?);
        Some(LogAxis { from, to })
    }

    pub(crate) fn wider(self) -> LogAxis {
        LogAxis { from: self.from / 1.08, to: self.to * 1.08 }
    }

    /// Returns the position of a value on the axis. If the axis has only one value, the position is one half.
    fn part(self, value: f64) -> f64 {
        let part = (value / self.from).ln() / (self.to / self.from).ln();
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 }
    }

    fn value(self, part: f64) -> f64 {
        self.from * (self.to / self.from).powf(part)
    }
}

impl Results {
    /// Returns the points of the steps that have the figure. A time of zero becomes 1 ns, because a logarithmic axis
    /// has no zero.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64, Outcome)> + Clone {
        let seconds = |time: Duration| time.max(Duration::from_nanos(1)).as_secs_f64();
        self.steps
            .iter()
            .filter_map(move |step| Some((step.hz, seconds(step.charted?), step.outcome)))
    }

    pub(crate) fn axes(&self, limit: Option<Duration>) -> Option<(LogAxis, LogAxis)> {
        let limit = limit.map(|limit| limit.as_secs_f64()).filter(|limit| *limit > 0.0);
        let rates = LogAxis::over(self.points().map(|point| point.0))?;
        let times = LogAxis::over(self.points().map(|point| point.1).chain(limit))?;
        Some((rates, times))
    }
}

impl Display for Chart<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, limit) = self.promise.charted();
        let Some((rates, times)) = self.results.axes(limit) else { return Ok(()) };
        let columns = self.width.saturating_sub(LABEL + 1).max(10);
        let row = |seconds: f64| ROWS - 1 - index(times.part(seconds), ROWS);
        let limit = limit.map(|limit| (row(limit.as_secs_f64()), human::time(limit)));
        let mut lines = vec![vec![" "; columns]; ROWS];
        if let Some((row, _)) = limit {
            lines[row].fill("┄");
        }
        for (hz, seconds, outcome) in self.results.points() {
            lines[row(seconds)][index(rates.part(hz), columns)] = mark(outcome);
        }
        writeln!(f, "\n{name} at each rate, both axes logarithmic: o met, x missed, ? not judged")?;
        for (row, line) in lines.into_iter().enumerate() {
            let at = |part| human::time(Duration::from_secs_f64(times.value(part)));
            let name = match (&limit, row) {
                (Some((limit, name)), row) if row == *limit => name.clone(),
                (_, 0) => at(1.0),
                (_, row) if row == ROWS - 1 => at(0.0),
                _ => String::new(),
            };
            writeln!(f, "{name:>LABEL$}│{}", line.concat().trim_end())?;
        }
        writeln!(f, "{:>LABEL$}└{}", "", "─".repeat(columns))?;
        let [from, to] = [rates.from, rates.to].map(rate);
        writeln!(f, "{:>LABEL$} {from}{to:>1$}", "", columns - from.len().min(columns))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a count")]
fn index(part: f64, count: usize) -> usize {
    (part * human::float((count - 1) as u64)).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_goes_from_the_least_value_to_the_greatest() {
        let axis = LogAxis::over([100.0, 1.0, 10.0].into_iter()).unwrap();
        for (value, part) in [(1.0, 0.0), (10.0, 0.5), (100.0, 1.0), (1e9, 1.0), (1e-9, 0.0)] {
            assert!((axis.part(value) - part).abs() < 1e-12, "{value}");
        }
        assert!((axis.value(0.5) - 10.0).abs() < 1e-9);
        let point = LogAxis::over([7.0].into_iter()).unwrap();
        assert!((point.part(7.0) - 0.5).abs() < 1e-12 && point.wider().from < 7.0);
        assert_eq!(LogAxis::over([].into_iter()), None);
    }
}
