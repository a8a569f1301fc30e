//! The report for people.

use super::answer::Answer;
use super::chart::Chart;
use super::judge::{Measured, Promise};
use super::method::{Outcome, Purpose};
use super::results::Results;
use crate::run::reporting::verdict::Verdict;
use nanopace_console::human::{self, four_digits};
use std::fmt::{self, Display, Formatter};

/// Shows results as text of many lines.
#[derive(Debug)]
pub(crate) struct Report<'run> {
    pub(crate) results: &'run Results,
    pub(crate) promise: &'run Promise,
    /// The width of a line of the chart, in characters.
    pub(crate) width: usize,
}

/// A step as one line.
#[derive(Debug)]
pub(crate) struct Line<'run> {
    /// Its number, from 1.
    pub(crate) number: usize,
    pub(crate) step: &'run Measured,
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Report { results, promise, width } = *self;
        write!(f, "{:>4} {:>12} {:>12}", "step", "rate", "achieved")?;
        for criterion in &promise.until {
            write!(f, " {:>14}", criterion.name())?;
        }
        writeln!(f, "  {:<16} promise", "verdict")?;
        for (index, step) in results.steps.iter().enumerate() {
            writeln!(f, "{}", Line { number: index + 1, step })?;
        }
        write!(f, "{}", Chart { results, promise, width })?;
        write!(f, "\n{}", Answer { results, promise })
    }
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Line { number, step } = self;
        let [asked, achieved] = [rate(step.hz), human::hz(step.achieved_hz)];
        write!(f, "{number:>4} {asked:>12} {achieved:>12}")?;
        for figure in &step.figures {
            write!(f, " {figure:>14}")?;
        }
        let again = match step.purpose {
            Purpose::Repeat | Purpose::Confirm => "again: ",
            Purpose::Bracket | Purpose::Bisect => "",
        };
        write!(f, "  {:<16} {again}", verdict(step.verdict))?;
        match step.outcome {
            Outcome::Kept => f.write_str("kept"),
            Outcome::Broken => write!(f, "broken: {}", step.missed.join("; ")),
            Outcome::Generator => write!(f, "not judged: {}", step.missed.join("; ")),
        }
    }
}

/// A rate of a search, which has few digits.
pub(crate) fn rate(hz: f64) -> String {
    format!("{}/s", four_digits(hz))
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::OnSchedule => "on schedule",
        Verdict::TargetBehind => "target behind",
        Verdict::GeneratorBehind => "generator behind",
        Verdict::TargetFailing => "target failing",
    }
}
