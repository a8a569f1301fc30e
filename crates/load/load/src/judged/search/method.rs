//! Chooses the next rate to try, and draws the conclusion from all tried rates.
//!
//! The rate is doubled until a step misses the objective, or halved until one meets it. Then the bracket is halved in
//! the logarithm until it is narrow enough. In the end both of its sides are confirmed: each is tried once more, and a
//! third time if the two results differ; the majority counts. If a result changes by that, the bracket opens again.
//!
//! A step in which the generator could not keep up shows nothing about the target, and is repeated. If the generator
//! still can't keep up, the rate is the generator's limit: an end of the bracket, but not the result, unless the
//! target's own limit is found close above it.

#[cfg(test)]
mod tests;

use crate::console::human::four_digits;
use serde::Serialize;
use std::cmp::Ordering;

/// When the generator has failed so often at a rate, that is its limit.
const MOST_FAILURES: u32 = 3;
/// How many steps must agree about an end of the bracket.
const CONFIRMED: u32 = 2;
/// How far apart the two rates of a result may be, if the generator was the limit in between.
const NEAR: f64 = 1.05;
/// More than rounding to four digits changes.
const ROUNDING: f64 = 1.001;

/// Where to search, in operations per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Where to begin.
    pub(crate) from: f64,
    /// No rate below this is tried; at most `from`.
    pub(crate) min: f64,
    /// No rate above this is tried; at least `from`.
    pub(crate) max: f64,
    /// How wide the bracket may be in the end: 0.02 if its upper side may be 2 % above the lower. At
    /// least 0.005.
    pub(crate) precision: f64,
    /// How many steps there may be.
    pub(crate) max_steps: usize,
}

/// A rate to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Operations per second.
    pub(crate) hz: f64,
    /// Why this one.
    pub(crate) purpose: Purpose,
}

/// The purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    /// To find both sides of a bracket.
    Bracket,
    /// To make the bracket narrower.
    Bisect,
    /// The rate was tried, and the result is not known.
    Repeat,
    /// The rate was tried, and the result of the search depends on it.
    Confirm,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The objective was met.
    Kept,
    /// The objective was missed.
    Broken,
    /// The objective was missed because the generator could not keep up.
    Generator,
}

/// The state of a search: the rates that have been tried.
#[derive(Debug)]
pub(crate) struct Search {
    bounds: Bounds,
    /// In ascending order of the rates.
    trials: Vec<Trial>,
    steps: usize,
}

/// The result at a rate.
#[derive(Clone, Copy, Debug)]
struct Trial {
    hz: f64,
    kept: u32,
    broken: u32,
    generator: u32,
}

/// The conclusion of a search. Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub(crate) enum Conclusion {
    /// The highest rate that meets the objective is between these.
    Found { kept: f64, broken: f64 },
    /// The highest allowed rate meets the objective.
    AllKept { kept: f64 },
    /// The lowest allowed rate misses the objective.
    NoneKept { broken: f64 },
    /// At this limit the generator could not keep up, and the highest rate that met the objective is below.
    GeneratorLimit { kept: Option<f64>, limit: f64 },
    /// It ended before the highest rate was found. `missed` is the lowest rate above `kept` at which a step missed the
    /// objective. The highest rate is likely to be between these.
    Unfinished { kept: Option<f64>, missed: Option<f64> },
}

impl Trial {
    fn new(hz: f64) -> Trial {
        Trial { hz, kept: 0, broken: 0, generator: 0 }
    }

    /// The result at the rate, if it is known.
    fn outcome(&self) -> Option<Outcome> {
        match self.kept.cmp(&self.broken) {
            Ordering::Greater => Some(Outcome::Kept),
            Ordering::Less => Some(Outcome::Broken),
            Ordering::Equal => (self.generator >= MOST_FAILURES).then_some(Outcome::Generator),
        }
    }

    fn is(&self, outcome: Outcome) -> bool {
        self.outcome() == Some(outcome)
    }

    fn is_confirmed(&self) -> bool {
        self.kept + self.broken >= CONFIRMED || self.generator >= MOST_FAILURES
    }
}

impl Search {
    /// A search that has tried nothing.
    pub(crate) fn new(bounds: Bounds) -> Search {
        Search { bounds, trials: Vec::new(), steps: 0 }
    }

    /// The next step; `None` if the search is complete, or there were too many steps.
    pub(crate) fn next(&self) -> Option<Step> {
        if self.steps < self.bounds.max_steps { self.wanted() } else { None }
    }

    /// Notes the result of a step.
    pub(crate) fn result(&mut self, step: Step, outcome: Outcome) {
        self.steps += 1;
        let at = self.trials.partition_point(|trial| trial.hz < step.hz);
        if self.trials.get(at).is_none_or(|trial| trial.hz > step.hz) {
            self.trials.insert(at, Trial::new(step.hz));
        }
        let trial = &mut self.trials[at];
        match outcome {
            Outcome::Kept => trial.kept += 1,
            Outcome::Broken => trial.broken += 1,
            Outcome::Generator => trial.generator += 1,
        }
    }

    /// The conclusion from all steps so far.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let (kept, missed) = (self.kept(), self.missed());
        let broken = self.broken().map(|trial| trial.hz);
        let kept_hz = kept.map(|trial| trial.hz);
        match (kept_hz, missed) {
            _ if self.wanted().is_some() => {
                let missed = self.above_kept(|trial| trial.broken > 0);
                Conclusion::Unfinished { kept: kept_hz, missed: missed.map(|trial| trial.hz) }
            }
            (Some(kept), None) => Conclusion::AllKept { kept },
            (Some(kept), Some(_)) if broken.is_some_and(|broken| broken <= self.near(kept)) => {
                Conclusion::Found { kept, broken: broken.unwrap_or(kept) }
            }
            (kept, Some(missed)) if missed.is(Outcome::Generator) => {
                Conclusion::GeneratorLimit { kept, limit: missed.hz }
            }
            (_, Some(missed)) => Conclusion::NoneKept { broken: missed.hz },
            (None, None) => Conclusion::Unfinished { kept: None, missed: None },
        }
    }

    /// Rates with contradicting results.
    pub(crate) fn contradictions(&self) -> Vec<f64> {
        let both = self.trials.iter().filter(|trial| trial.kept > 0 && trial.broken > 0);
        both.map(|trial| trial.hz).collect()
    }

    /// The next step, whatever the number of steps so far.
    fn wanted(&self) -> Option<Step> {
        let Bounds { from, min, max, .. } = self.bounds;
        if let Some(open) = self.trials.iter().find(|trial| trial.outcome().is_none()) {
            return Some(Step { hz: open.hz, purpose: Purpose::Repeat });
        }
        let (kept, missed) = (self.kept(), self.missed());
        let bracket = match (kept, missed) {
            (None, None) => Some(from),
            (None, Some(missed)) if missed.hz > min => Some((missed.hz / 2.0).max(min)),
            (Some(kept), None) if kept.hz < max => Some((kept.hz * 2.0).min(max)),
            _ => None,
        };
        let bracket = bracket.map(|hz| Step { hz, purpose: Purpose::Bracket });
        bracket.or_else(|| self.middle()).or_else(|| {
            let near =
                kept.zip(self.broken()).filter(|(kept, broken)| broken.hz <= self.near(kept.hz));
            let ends = [missed, near.map(|(_, broken)| broken), kept].into_iter().flatten();
            let hz = ends.filter(|end| !end.is_confirmed()).map(|end| end.hz).next()?;
            Some(Step { hz, purpose: Purpose::Confirm })
        })
    }

    /// A rate between two that are too far apart: the sides of the bracket, or the broken rate and the
    /// highest one below it that was tried, where the generator failed in between. Where nothing is too
    /// far apart, the [`highest_near`](Search::highest_near).
    fn middle(&self) -> Option<Step> {
        let (missed, broken) = (self.missed()?, self.broken());
        let bracket = self.kept().map(|kept| (kept.hz, missed.hz));
        let up_to_broken = broken.and_then(|broken| Some((self.below(broken.hz)?, broken.hz)));
        let middle = [bracket, up_to_broken]
            .into_iter()
            .flatten()
            .find(|(from, to)| *to > from * (1.0 + self.bounds.precision))
            .map(|(from, to)| four_digits((from * to).sqrt()));
        let hz = middle.or_else(|| self.highest_near())?;
        Some(Step { hz, purpose: Purpose::Bisect })
    }

    /// The highest rate that is still near the kept one, if the generator failed at the highest that was tried, and
    /// that is lower. If the objective is missed there, the limit is the target's.
    fn highest_near(&self) -> Option<f64> {
        let (kept, last) = (self.kept()?, self.trials.last()?);
        let near = four_digits(self.near(kept.hz) / ROUNDING).min(self.bounds.max);
        (last.is(Outcome::Generator) && last.hz < near).then_some(near)
    }

    /// The upper end of the rates that are near a rate.
    fn near(&self, hz: f64) -> f64 {
        hz * NEAR.max(1.0 + self.bounds.precision)
    }

    /// The highest rate below this one that was tried.
    fn below(&self, hz: f64) -> Option<f64> {
        self.trials.iter().rev().map(|trial| trial.hz).find(|below| *below < hz)
    }

    /// The highest rate that meets the objective.
    fn kept(&self) -> Option<Trial> {
        self.trials.iter().rev().find(|trial| trial.is(Outcome::Kept)).copied()
    }

    /// The lowest rate above that at which the objective was missed for any reason, or where the result is not known
    /// yet.
    fn missed(&self) -> Option<Trial> {
        self.above_kept(|_| true)
    }

    /// The lowest rate above that, at which the target missed the objective.
    fn broken(&self) -> Option<Trial> {
        self.above_kept(|trial| trial.is(Outcome::Broken))
    }

    fn above_kept(&self, is_wanted: impl Fn(&Trial) -> bool) -> Option<Trial> {
        let kept = self.kept().map_or(0.0, |trial| trial.hz);
        self.trials.iter().filter(|trial| trial.hz > kept).find(|trial| is_wanted(trial)).copied()
    }
}
