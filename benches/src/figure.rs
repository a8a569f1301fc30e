//! Represents a measured figure with its baseline, its bound and the verdict.

use crate::rounds::Samples;
use std::fmt;

/// The maximum interquartile range of a baseline's rounds, as a share of the median. A wider baseline is too noisy.
const NOISY: f64 = 0.10;

/// One row of the printed table.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of the measurement.
    pub name: String,
    /// The unit of `value` and `baseline`.
    pub unit: &'static str,
    /// The measured value.
    pub value: f64,
    /// The median of the baseline from the same run, if there is a baseline.
    pub baseline: Option<f64>,
    /// The median of the rounds' ratios of value to baseline. `None` if the bound applies to the value itself.
    pub ratio: Option<f64>,
    /// The bound on the ratio, or on the value if there is no ratio. `None` if the figure is for information only.
    pub bound: Option<f64>,
    /// The side of the bound on which the figure must be.
    pub sense: Sense,
    /// Whether the figure meets its bound. `None` without a bound, or if the machine was too noisy to judge.
    pub holds: Option<bool>,
    /// The variation of the baseline between rounds, as a share of its median.
    pub spread: Option<f64>,
    /// The 95 % confidence interval of the ratio, if there were many rounds.
    pub range: Option<[f64; 2]>,
}

/// The side of its bound on which a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The figure must be at most the bound.
    AtMost,
    /// The figure must be at least the bound.
    AtLeast,
}

impl Figure {
    /// Creates a figure from a value without a baseline.
    #[must_use]
    pub fn plain(name: &str, unit: &'static str, value: f64) -> Figure {
        Figure {
            name: name.to_owned(),
            unit,
            value,
            baseline: None,
            ratio: None,
            bound: None,
            sense: Sense::AtMost,
            holds: None,
            spread: None,
            range: None,
        }
    }

    /// Creates a figure from rounds of a candidate and rounds of the baseline.
    #[must_use]
    pub fn of_rounds(name: &str, unit: &'static str, ours: &Samples, baseline: &Samples) -> Figure {
        Figure {
            baseline: Some(baseline.median()),
            ratio: Some(ours.ratio_to(baseline)),
            spread: Some(baseline.spread()),
            ..Figure::plain(name, unit, ours.median())
        }
    }

    /// Creates a figure from many rounds of a candidate and of a baseline that vary much between rounds. The figure is
    /// judged only if the bound is outside the confidence interval of the ratio.
    #[must_use]
    pub fn of_many_rounds(
        name: &str,
        unit: &'static str,
        ours: &Samples,
        baseline: &Samples,
    ) -> Figure {
        let range = Some(ours.ratio_range(baseline));
        Figure { range, ..Figure::of_rounds(name, unit, ours, baseline) }
    }

    /// Adds a bound, and judges the figure against the bound unless the machine was too noisy.
    #[must_use]
    pub fn bound(mut self, sense: Sense, bound: f64) -> Figure {
        let judged = self.ratio.unwrap_or(self.value);
        let holds = match sense {
            Sense::AtMost => judged <= bound,
            Sense::AtLeast => judged >= bound,
        };
        self.holds = self.is_clear(bound).then_some(holds);
        Figure { bound: Some(bound), sense, ..self }
    }

    fn is_clear(&self, bound: f64) -> bool {
        match self.range {
            Some([low, high]) => !(low..=high).contains(&bound),
            None => self.spread.is_none_or(|spread| spread <= NOISY),
        }
    }

    /// Removes the verdict, because other programs used too much CPU time.
    #[must_use]
    pub fn unjudged(self) -> Figure {
        Figure { holds: None, ..self }
    }

    fn verdict(&self) -> String {
        match (self.bound, self.holds) {
            (None, _) => String::new(),
            (_, Some(true)) => "holds".to_owned(),
            (_, Some(false)) => "NOT YET".to_owned(),
            (_, None) => "too noisy to judge".to_owned(),
        }
    }
}

/// Returns the table head for [`Figure`]s.
#[must_use]
pub fn head() -> String {
    row("figure", "value", "bare", "ratio", "bound", "")
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_unit = |value: f64| format!("{} {}", short(value), self.unit);
        let sign = match self.sense {
            Sense::AtMost => "<=",
            Sense::AtLeast => ">=",
        };
        f.write_str(&row(
            &self.name,
            &with_unit(self.value),
            &self.baseline.map(with_unit).unwrap_or_default(),
            &self.ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default(),
            &self.bound.map(|bound| format!("{sign} {bound}")).unwrap_or_default(),
            &self.verdict(),
        ))
    }
}

fn row(name: &str, value: &str, baseline: &str, ratio: &str, bound: &str, verdict: &str) -> String {
    let line = format!(
        "| {name:<90} | {value:>12} | {baseline:>12} | {ratio:>7} | {bound:>8} | {verdict:<8} |"
    );
    line
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size > 0.0 && size < 0.1 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    }
}
