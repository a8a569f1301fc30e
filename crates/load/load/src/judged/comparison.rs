//! Compares two sides, each of which consists of one or more runs, and finds figures that differ by more than chance.
//!
//! Each figure has a [confidence interval](crate::results::confidence) on each side. The confidence interval of the
//! difference is computed from both (Zou and Donner, *Construction of confidence limits about effect measures*, 2008).
//! If the interval of the difference contains zero, no difference is reported. A request that did not complete counts
//! as slower than all measured times. Sides that ran at the same time are compared in [pairs of batches](paired).

pub(crate) mod demand;
mod figure;
mod paired;
mod side;
pub(crate) mod stored_run;
#[cfg(test)]
mod tests;

use crate::results::retained_histograms::Times;
pub(crate) use figure::{Estimate, Figure};
use paired::Pairs;
use serde::Serialize;
use side::Side;
use std::fmt::{self, Display, Formatter};
use std::slice;
use stored_run::StoredRun;

/// Two times count as equal if their relative difference is at most this, because batches store times with two
/// significant digits.
const RESOLUTION: f64 = 0.01;

#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) runs: [usize; 2],
    pub(crate) rows: Vec<Row>,
    pub(crate) times: [Times; 2],
    pub(crate) url: String,
    pub(crate) told: Vec<String>,
    pub(crate) is_incomplete: bool,
    pub(crate) is_paired: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) figure: Figure,
    pub(crate) sides: [Option<Estimate>; 2],
    /// The value on the second side minus the value on the first side. `None` if a value is unknown or a lower bound.
    pub(crate) difference: Option<Difference>,
    pub(crate) word: Word,
}

/// The difference of a figure, in the figure's unit. `low` and `high` are the ends of its 95 % confidence interval. In
/// JSON, an end that is not finite is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) by: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Faster,
    Slower,
    Higher,
    Lower,
    NoDifference,
    TooFew,
}

impl Comparison {
    /// Compares two sides. Each side must have at least one run.
    pub(crate) fn new(first: &[StoredRun], second: &[StoredRun]) -> Result<Comparison, String> {
        let all: Vec<_> = first.iter().chain(second).collect();
        all.iter().try_for_each(|other| all[0].is_comparable(other))?;
        if [first, second].into_iter().any(has_one_twice) {
            return Err("one side contains the same run twice: name each run only once".to_owned());
        }
        Ok(Comparison::of([first, second], false))
    }

    pub(crate) fn paired(first: &StoredRun, second: &StoredRun) -> Result<Comparison, String> {
        first.is_comparable(second)?;
        Ok(Comparison::of([first, second].map(slice::from_ref), true))
    }

    fn of(runs: [&[StoredRun]; 2], is_paired: bool) -> Comparison {
        let sides = runs.map(Side::new);
        let batches = sides.each_ref().map(|side| &side.runs[0].batches[..]);
        let pairs = is_paired.then(|| Pairs::new(batches));
        Comparison {
            runs: runs.map(<[_]>::len),
            rows: Figure::all().map(|figure| Row::new(figure, &sides, pairs.as_ref())).collect(),
            times: runs.map(|runs| side::sum(runs.iter().map(|run| &run.histograms))),
            url: runs[0][0].url.clone(),
            told: stored_run::differences(runs[0], runs[1]),
            is_incomplete: runs.into_iter().flatten().any(|run| run.incomplete.is_some()),
            is_paired,
        }
    }
}

fn has_one_twice(runs: &[StoredRun]) -> bool {
    runs.iter().enumerate().any(|(index, run)| runs[..index].iter().any(|other| other.is_same(run)))
}

impl Row {
    fn new(figure: Figure, both: &[Side; 2], pairs: Option<&Pairs>) -> Row {
        let own = pairs.map_or(1.0, |pairs| pairs.own_variance(figure, both));
        let estimates = |variance| both.each_ref().map(|side| side.estimate(figure, variance));
        let (sides, paired) = (estimates(1.0), estimates(own));
        let measured = paired.map(|estimate| estimate.filter(|estimate| !estimate.is_bound));
        let [Some(first), Some(second)] = measured else {
            return Row { figure, sides, difference: None, word: Word::TooFew };
        };
        let difference = Difference::new(first, second);
        let word = Word::new(figure, [first, second], difference);
        Row { figure, sides, difference: Some(difference), word }
    }

    pub(crate) fn relative(&self) -> Option<Difference> {
        let first = self.sides[0].filter(|first| first.value > 0.0)?.value;
        let Difference { by, low, high } = self.difference?;
        // A rate or a time cannot decrease by more than 100 %.
        Some(Difference { by: by / first, low: (low / first).max(-1.0), high: high / first })
    }
}

impl Difference {
    fn new(first: Estimate, second: Estimate) -> Difference {
        let by = second.value - first.value;
        let down = (second.value - second.low).hypot(first.high - first.value);
        let up = (second.high - second.value).hypot(first.value - first.low);
        Difference { by, low: by - down, high: by + up }
    }
}

impl Word {
    fn new(figure: Figure, [first, second]: [Estimate; 2], difference: Difference) -> Word {
        let is_time = figure.is_time();
        let [more, less] =
            if is_time { [Word::Slower, Word::Faster] } else { [Word::Higher, Word::Lower] };
        let least = if is_time { first.value * RESOLUTION } else { 0.0 };
        match difference {
            _ if first.is_rough || second.is_rough => Word::TooFew,
            Difference { by, low, .. } if low > 0.0 && by > least => more,
            Difference { by, high, .. } if high < 0.0 && -by > least => less,
            _ => Word::NoDifference,
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Word::Faster => "faster",
            Word::Slower => "slower",
            Word::Higher => "higher",
            Word::Lower => "lower",
            Word::NoDifference => "no-difference-seen",
            Word::TooFew => "too-few-samples",
        }
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Word::NoDifference => "no difference seen",
            Word::TooFew => "too few samples",
            word => word.key(),
        })
    }
}
