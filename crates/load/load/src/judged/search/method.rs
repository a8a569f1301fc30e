//! Chooses the next rate of a search, and draws a conclusion from the results at all rates that were tried.
//!
//! The rate is doubled until a step misses the objective, or halved until a step meets it. The highest rate that meets
//! the objective and the lowest rate that misses it are the ends of a bracket. The bracket is halved on a logarithmic
//! scale until it is narrow enough. Then both ends are confirmed: each rate is tried once more, and a third time if the
//! first two results differ. The result of the majority counts. If this changes the result at one end, the search
//! continues until the bracket is narrow again.
//!
//! If the generator could not keep up in a step, the step shows nothing about the target, so it is repeated. If the
//! generator could not keep up in three steps at a rate, the rate counts as the generator's limit, and becomes the
//! upper end of the bracket. The search then reports the limit of the generator instead of a result for the target,
//! unless the target misses the objective at a rate slightly above the highest rate that meets it.

#[cfg(test)]
mod tests;

use crate::console::human::four_digits;
use serde::Serialize;
use std::cmp::Ordering;

/// If the generator could not keep up in this number of steps at a rate, the rate counts as the generator's limit.
const MOST_FAILURES: u32 = 3;
const CONFIRMED: u32 = 2;
/// The maximum ratio of the two rates of a result if the generator failed at a rate between them.
const NEAR: f64 = 1.05;
/// A factor that is larger than the relative error of rounding to four digits.
const ROUNDING: f64 = 1.001;

/// The limits of a search. Rates are in operations per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) from: f64,
    /// The lowest rate that the search may try. It is at most `from`.
    pub(crate) min: f64,
    /// The highest rate that the search may try. It is at least `from`.
    pub(crate) max: f64,
    /// The maximum relative width of the final bracket. It is at least 0.005.
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
    Bracket,
    Bisect,
    Repeat,
    /// The step confirms a rate on which the result of the search depends.
    Confirm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Kept,
    Broken,
    /// The objective was missed, because the generator could not keep up.
    Generator,
}

#[derive(Debug)]
pub(crate) struct Search {
    bounds: Bounds,
    /// The rates that were tried and their results, in ascending order of the rates.
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

/// The conclusion of a search. Rates are in operations per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub(crate) enum Conclusion {
    /// The highest rate that meets the objective is at least `kept` and below `broken`.
    Found { kept: f64, broken: f64 },
    /// The highest rate that may be tried meets the objective.
    AllKept { kept: f64 },
    /// The lowest rate that may be tried misses the objective.
    NoneKept { broken: f64 },
    /// The generator could not keep up at `limit`. `kept` is the highest lower rate that met the objective.
    GeneratorLimit { kept: Option<f64>, limit: f64 },
    /// The search ended early. `missed` is the lowest rate above `kept` at which a step has missed the objective.
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

    pub(crate) fn contradictions(&self) -> Vec<f64> {
        let both = self.trials.iter().filter(|trial| trial.kept > 0 && trial.broken > 0);
        both.map(|trial| trial.hz).collect()
    }

    /// Returns the next step as if there were no maximum number of steps. Returns `None` if the search is complete.
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

    /// Returns a step in the middle between two rates that are too far apart. The first pair of rates is the bracket.
    /// The second pair is the lowest rate at which the target missed the objective, and the next lower rate that was
    /// tried. The pairs differ if the generator failed within the bracket. If both pairs are close enough, returns a
    /// step at [`highest_near`](Search::highest_near), if there is one.
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

    /// Returns the upper limit of the rates that count as near [`kept`](Search::kept), if the generator failed at the
    /// highest rate tried and that rate is below this limit. If the target misses the objective at this limit, the
    /// target is the limit, and not the generator.
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

    /// Returns the lowest rate above [`kept`](Search::kept) that was tried, whatever its result is.
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
