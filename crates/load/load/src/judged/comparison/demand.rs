//! Parses the kinds of requirements of `--fail-if`: a limit of a figure (`p99 response < 50ms`), a limit of a figure of
//! one of several loads (`writes: p99 response < 50ms`), and a forbidden change from a baseline (`p99 response slower
//! by 5%`).

use super::figure::PERCENTILES;
use super::{Comparison, Difference, Figure, Row, Word};
use crate::console::human::percent;
use crate::judged::criteria::Criterion;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

const FORM: &str = "write for example \"p99 response slower by 5%\", \"errors higher by 0.1%\" or \"rate lower by 1%\"";

/// A requirement that a figure does not change for the worse by `by` or more. It is missed if the change is at least
/// `by` and statistically significant. It is also missed if the change is unknown, or if a run is incomplete.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand {
    figure: Figure,
    word: Word,
    /// The smallest forbidden change, as a share of the first side's value. For errors, it is a share of all requests.
    by: f64,
    text: String,
}

impl Demand {
    pub(crate) fn row<'a>(&self, comparison: &'a Comparison) -> Option<&'a Row> {
        comparison.rows.iter().find(|row| row.figure == self.figure)
    }

    pub(crate) fn check(&self, comparison: &Comparison) -> Option<String> {
        let row = self.row(comparison)?;
        let unknown = || Some(format!("{self} is unknown: {}", self.doubt(row, comparison)?));
        self.failed(row).or_else(unknown)
    }

    fn doubt(&self, row: &Row, comparison: &Comparison) -> Option<&'static str> {
        let is_bound = row.sides.iter().flatten().any(|side| side.is_bound);
        match row.word {
            Word::TooFew if is_bound => Some("one of the values is only a lower bound"),
            Word::TooFew if !self.is_excluded(row) => Some("there are too few samples"),
            _ => comparison.is_incomplete.then_some("a run is incomplete"),
        }
    }

    /// Returns whether the confidence interval excludes the forbidden change of the errors. With a few failures, the
    /// interval is not reliable enough for a result, but its upper end is still a limit of the change.
    fn is_excluded(&self, row: &Row) -> bool {
        let is_below = |difference: Difference| difference.high < self.by;
        self.figure == Figure::Errors && row.difference.is_some_and(is_below)
    }

    fn failed(&self, row: &Row) -> Option<String> {
        let by = size(row).filter(|by| row.word == self.word && *by >= self.by)?;
        let (verb, by) = match self.figure {
            Figure::Errors => ("are", percent(by).replace('%', "percentage points")),
            _ => ("is", percent(by)),
        };
        Some(format!("{} {verb} {} by {by} ({self})", self.figure, self.word))
    }

    /// Returns the requirement as text: that the figure does not change in this way.
    pub(crate) fn requirement(&self) -> String {
        let lower = self.text.to_ascii_lowercase();
        let by = lower.rsplit_once(" by ").map_or("", |(_, by)| by.trim());
        format!("{} not {} by {by}", self.figure, self.word)
    }
}

/// Returns the absolute value of the difference, or `None` if the row has no difference. For errors, it is a share of
/// all requests. For other figures, it is a share of the first side's value, or infinity if that value is zero.
fn size(row: &Row) -> Option<f64> {
    let difference = row.difference?;
    let is_share = row.figure == Figure::Errors;
    let relative = if is_share { Some(difference) } else { row.relative() };
    Some(relative.map_or(f64::INFINITY, |difference| difference.by.abs()))
}

impl Display for Demand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Demand {
    type Err = String;

    fn from_str(text: &str) -> Result<Demand, String> {
        read(text).ok_or_else(|| {
            let percentiles = PERCENTILES.map(|percent| format!("p{percent}")).join(", ");
            format!("it needs a figure, a change for the worse and a percentage: {FORM}; the percentiles are {percentiles}")
        })
    }
}

fn read(text: &str) -> Option<Demand> {
    let lower = text.trim().to_ascii_lowercase();
    let (what, by) = lower.rsplit_once(" by ")?;
    let (name, word) = what.trim().rsplit_once(' ')?;
    let figure = Figure::all().find(|figure| figure.to_string() == name.trim())?;
    let by: f64 = by.trim().strip_suffix('%')?.trim().parse().ok()?;
    let worse = worse(figure);
    let is_read = worse.key() == word && by.is_finite() && by >= 0.0;
    is_read.then(|| Demand { figure, word: worse, by: by / 100.0, text: text.trim().to_owned() })
}

fn worse(figure: Figure) -> Word {
    match figure {
        Figure::Rate => Word::Lower,
        Figure::Errors => Word::Higher,
        Figure::Response(_) | Figure::Service(_) => Word::Slower,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Requirement {
    Figure(Criterion),
    OfLoad(String, Criterion),
    Change(Demand),
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Requirement, String> {
        if text.contains(" by ") {
            return text.parse().map(Requirement::Change);
        }
        let of_load = text.split_once(':').map(|(name, text)| (name.trim(), text));
        let of_load = of_load.filter(|(name, _)| is_load_name(name));
        let read = |text: &str| text.parse::<Criterion>().map_err(|error| error.to_string());
        let Some((name, rest)) = of_load else { return read(text).map(Requirement::Figure) };
        // Spaces in place of the name keep the columns of errors.
        let spaces = " ".repeat(text.len() - rest.len());
        read(&(spaces + rest)).map(|criterion| Requirement::OfLoad(name.to_owned(), criterion))
    }
}

pub(crate) fn is_load_name(text: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.chars().all(is_allowed)
}
