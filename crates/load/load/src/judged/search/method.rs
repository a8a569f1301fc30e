//! Chooses the next rate of a search, and draws the conclusion from all tried rates.
//!
//! The rate is doubled until a step misses the objective, or halved until a step meets it. These two rates form a
//! bracket, which is then halved on a logarithmic scale until it is narrow enough. In the end, both of its ends are
//! confirmed: each is tried once more, and a third time if the first two results differ; the majority counts. If a
//! result changes, the search for a narrow bracket continues.
//!
//! A step in which the generator could not keep up reveals nothing about the target, so the step is repeated. If the
//! generator still cannot keep up, the rate is the generator's limit, and the bracket ends there. In that case, the
//! search reports the generator's limit and not a result for the target, unless the target's own limit is found close
//! above it.

#[cfg(test)]
mod tests;

use crate::console::human::four_digits;
use serde::Serialize;
use std::cmp::Ordering;

/// The number of failures of the generator at a rate after which the rate counts as the generator's limit.
const MOST_FAILURES: u32 = 3;
/// The number of steps that must agree on an end of the bracket.
const CONFIRMED: u32 = 2;
/// The maximum ratio of the two rates of a result with the generator's limit between them.
const NEAR: f64 = 1.05;
/// A factor that exceeds the effect of rounding to four digits.
const ROUNDING: f64 = 1.001;

/// Rates are in operations per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) from: f64,
    /// The lowest rate to try; at most `from`.
    pub(crate) min: f64,
    /// The highest rate to try; at least `from`.
    pub(crate) max: f64,
    /// The maximum relative width of the final bracket; at least 0.005.
    pub(crate) precision: f64,
    pub(crate) max_steps: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) hz: f64,
    pub(crate) purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    /// A step to find both ends of a bracket.
    Bracket,
    /// A step between both ends of the bracket.
    Bisect,
    /// A step at a rate whose result is not known yet.
    Repeat,
    /// A step at a rate on which the result of the search depends.
    Confirm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Kept,
    Broken,
    /// The objective was missed because the generator could not keep up.
    Generator,
}

#[derive(Debug)]
pub(crate) struct Search {
    bounds: Bounds,
    /// The trials in ascending order of their rates.
    trials: Vec<Trial>,
    steps: usize,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    hz: f64,
    kept: u32,
    broken: u32,
    generator: u32,
}

/// Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub(crate) enum Conclusion {
    /// The highest rate that meets the objective lies between these two rates.
    Found { kept: f64, broken: f64 },
    /// The highest allowed rate meets the objective.
    AllKept { kept: f64 },
    /// The lowest allowed rate misses the objective.
    NoneKept { broken: f64 },
    /// The generator could not keep up at `limit`. `kept` is the highest rate below `limit` that met the objective.
    GeneratorLimit { kept: Option<f64>, limit: f64 },
    /// The search ended early. `kept` is the highest rate that met the objective, and `missed` the lowest rate above
    /// `kept` at which a step missed it.
    Unfinished { kept: Option<f64>, missed: Option<f64> },
}

impl Trial {
    fn new(hz: f64) -> Trial {
        Trial { hz, kept: 0, broken: 0, generator: 0 }
    }

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
    pub(crate) fn new(bounds: Bounds) -> Search {
        Search { bounds, trials: Vec::new(), steps: 0 }
    }

    pub(crate) fn next(&self) -> Option<Step> {
        if self.steps < self.bounds.max_steps { self.wanted() } else { None }
    }

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

    /// Returns the rates with contradictory results.
    pub(crate) fn contradictions(&self) -> Vec<f64> {
        let both = self.trials.iter().filter(|trial| trial.kept > 0 && trial.broken > 0);
        both.map(|trial| trial.hz).collect()
    }

    /// Ignores the maximum number of steps.
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

    /// Returns a step between two tried rates that are too far apart. The two rates are the ends of the bracket; if the
    /// generator failed between them, they are the lowest rate at which the target missed the objective and the next
    /// lower tried rate. If both pairs are close enough, returns a step at [`highest_near`](Search::highest_near).
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

    /// If the generator failed at the highest tried rate, returns the highest rate above it that still counts as near
    /// the highest rate that met the objective. If the target misses the objective at the returned rate, the target is
    /// the limit.
    fn highest_near(&self) -> Option<f64> {
        let (kept, last) = (self.kept()?, self.trials.last()?);
        let near = four_digits(self.near(kept.hz) / ROUNDING).min(self.bounds.max);
        (last.is(Outcome::Generator) && last.hz < near).then_some(near)
    }

    fn near(&self, hz: f64) -> f64 {
        hz * NEAR.max(1.0 + self.bounds.precision)
    }

    fn below(&self, hz: f64) -> Option<f64> {
        self.trials.iter().rev().map(|trial| trial.hz).find(|below| *below < hz)
    }

    fn kept(&self) -> Option<Trial> {
        self.trials.iter().rev().find(|trial| trial.is(Outcome::Kept)).copied()
    }

    /// Returns the lowest rate above [`kept`](Search::kept) that missed the objective for any reason, or whose result
    /// is not known yet.
    fn missed(&self) -> Option<Trial> {
        self.above_kept(|_| true)
    }

    /// Returns the lowest rate above [`kept`](Search::kept) at which the target missed the objective.
    fn broken(&self) -> Option<Trial> {
        self.above_kept(|trial| trial.is(Outcome::Broken))
    }

    fn above_kept(&self, is_wanted: impl Fn(&Trial) -> bool) -> Option<Trial> {
        let kept = self.kept().map_or(0.0, |trial| trial.hz);
        self.trials.iter().filter(|trial| trial.hz > kept).find(|trial| is_wanted(trial)).copied()
    }
}
