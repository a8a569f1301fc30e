//! Which rate to try next, and what follows from all that were tried.
//!
//! The rate is doubled until a step does not keep the promise, or halved until one does. Then the
//! bracket is halved in the logarithm until it is narrow enough. In the end both of its sides are
//! confirmed: each is tried once more, and a third time if the two contradict each other; what most
//! of them say counts. Whatever changes its mind by that opens the bracket again.
//!
//! A step in which the generator could not keep up says nothing about the target, and is repeated. If
//! it stays so, the rate is the generator's limit: an end of the bracket, but not the answer, unless
//! the target's own limit is found close above it.

use crate::console::human::four_digits;
use serde::Serialize;
use std::cmp::Ordering;

/// How often the generator may fail at a rate before that is its limit.
const MOST_FAILURES: u32 = 3;
/// How many steps have to say the same about an end of the bracket.
const CONFIRMED: u32 = 2;
/// How far apart the two rates of an answer may be, if the generator was the limit in between.
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
    /// Operations per second, in four digits.
    pub(crate) hz: f64,
    /// Why this one.
    pub(crate) purpose: Purpose,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    /// To find both sides of a bracket.
    Bracket,
    /// To make the bracket narrower.
    Bisect,
    /// The rate was tried, and it is not known what is true.
    Repeat,
    /// The rate was tried, and the answer depends on it.
    Confirm,
}

/// What a step has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The promise was kept.
    Kept,
    /// The promise was broken.
    Broken,
    /// The promise was broken because the generator could not keep up.
    Generator,
}

/// A search: what has been tried.
#[derive(Debug)]
pub(crate) struct Search {
    bounds: Bounds,
    /// By rate, which goes up.
    trials: Vec<Trial>,
    steps: usize,
}

/// What was found at a rate.
#[derive(Clone, Copy, Debug)]
struct Trial {
    hz: f64,
    kept: u32,
    broken: u32,
    generator: u32,
}

/// What follows. Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub(crate) enum Conclusion {
    /// The highest rate that keeps the promise is between these.
    Found { kept: f64, broken: f64 },
    /// The highest rate that was allowed keeps it.
    AllKept { kept: f64 },
    /// The lowest rate that was allowed does not keep it.
    NoneKept { broken: f64 },
    /// At this limit the generator could not keep up, and the highest rate that was kept is below.
    GeneratorLimit { kept: Option<f64>, limit: f64 },
    /// It ended before the answer was found. The answer is likely to be between these.
    Unfinished { kept: Option<f64>, missed: Option<f64> },
}

impl Trial {
    fn new(hz: f64) -> Trial {
        Trial { hz, kept: 0, broken: 0, generator: 0 }
    }

    /// What is true of the rate, if that is known.
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

    /// The next step; none if the answer is there, or there were too many steps.
    pub(crate) fn next(&self) -> Option<Step> {
        if self.steps < self.bounds.max_steps { self.wanted() } else { None }
    }

    /// Notes what a step has shown.
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

    /// What follows from all steps so far.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let (kept, missed) = (self.kept(), self.missed());
        let broken = self.broken().map(|trial| trial.hz);
        let kept_hz = kept.map(|trial| trial.hz);
        match (kept_hz, missed) {
            _ if self.wanted().is_some() => {
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

    /// Rates at which steps contradicted each other.
    pub(crate) fn contradictions(&self) -> Vec<f64> {
        let both = self.trials.iter().filter(|trial| trial.kept > 0 && trial.broken > 0);
        both.map(|trial| trial.hz).collect()
    }

    /// The next step, however many there were.
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
            let ends = [missed, kept].into_iter().flatten();
            let hz = ends.filter(|end| !end.is_confirmed()).map(|end| end.hz).next()?;
            Some(Step { hz, purpose: Purpose::Confirm })
        })
    }

    /// A rate between two that are too far apart: the sides of the bracket, or the generator's limit
    /// and that of the target above it.
    fn middle(&self) -> Option<Step> {
        let (missed, broken) = (self.missed()?, self.broken());
        let bracket = self.kept().map(|kept| (kept.hz, missed.hz));
        let above_generator = broken.and_then(|broken| Some((self.below(broken.hz)?, broken.hz)));
        let middle = [bracket, above_generator]
            .into_iter()
            .flatten()
            .find(|(from, to)| *to > from * (1.0 + self.bounds.precision))
            .map(|(from, to)| four_digits((from * to).sqrt()));
        let hz = middle.or_else(|| self.above_generator())?;
        Some(Step { hz, purpose: Purpose::Bisect })
    }

    /// Where the target's limit would still be near, if only the generator's is known yet.
    fn above_generator(&self) -> Option<f64> {
        let (kept, last) = (self.kept()?, self.trials.last()?);
        let near = four_digits(self.near(kept.hz) / ROUNDING).min(self.bounds.max);
        (last.is(Outcome::Generator) && last.hz < near).then_some(near)
    }

    /// Up to where a rate is near another one.
    fn near(&self, hz: f64) -> f64 {
        hz * NEAR.max(1.0 + self.bounds.precision)
    }

    /// The highest rate below this one that was tried.
    fn below(&self, hz: f64) -> Option<f64> {
        self.trials.iter().rev().map(|trial| trial.hz).find(|below| *below < hz)
    }

    /// The highest rate that keeps the promise.
    fn kept(&self) -> Option<Trial> {
        self.trials.iter().rev().find(|trial| trial.is(Outcome::Kept)).copied()
    }

    /// The lowest rate above that, at which it was not kept for any reason.
    fn missed(&self) -> Option<Trial> {
        self.above_kept(|_| true)
    }

    /// The lowest rate above that, at which the target did not keep it.
    fn broken(&self) -> Option<Trial> {
        self.above_kept(|trial| trial.is(Outcome::Broken))
    }

    fn above_kept(&self, is_wanted: impl Fn(&Trial) -> bool) -> Option<Trial> {
        let kept = self.kept().map_or(0.0, |trial| trial.hz);
        self.trials.iter().filter(|trial| trial.hz > kept).find(|trial| is_wanted(trial)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds =
        Bounds { from: 100.0, min: 1.0, max: 1e9, precision: 0.02, max_steps: 1_000 };

    /// Searches a system, and returns the steps too.
    fn search(bounds: Bounds, mut system: impl FnMut(f64) -> Outcome) -> (Conclusion, Vec<Step>) {
        let mut search = Search::new(bounds);
        let mut steps = Vec::new();
        while let Some(step) = search.next() {
            search.result(step, system(step.hz));
            steps.push(step);
        }
        (search.conclusion(), steps)
    }

    fn limit(at: f64) -> impl Fn(f64) -> Outcome {
        move |hz| if hz <= at { Outcome::Kept } else { Outcome::Broken }
    }

    /// As many steps as doublings, halvings of the bracket, and repetitions can take.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a hundred")]
    fn most_steps(bounds: Bounds, at: f64) -> usize {
        let bracket = (at / bounds.from).log2().abs().ceil() + 2.0;
        let bisections = (2_f64.ln() / bounds.precision.ln_1p()).log2().ceil() + 2.0;
        (bracket + bisections + 2.0) as usize
    }

    #[test]
    fn the_way_to_a_limit_of_800() {
        let (conclusion, steps) = search(BOUNDS, limit(800.0));
        let rates: Vec<_> = steps.iter().map(|step| step.hz.to_string()).collect();
        assert_eq!(
            rates.join(" "),
            "100 200 400 800 1600 1131 951.2 872.3 835.4 817.5 808.7 808.7 800"
        );
        assert_eq!(conclusion, Conclusion::Found { kept: 800.0, broken: 808.7 });
        assert_eq!(
            steps[11..].iter().map(|step| step.purpose).collect::<Vec<_>>(),
            [Purpose::Confirm, Purpose::Confirm]
        );
    }

    #[test]
    fn what_is_outside_of_the_bounds_is_said() {
        let bounds = Bounds { min: 10.0, max: 1_000.0, ..BOUNDS };
        let concluded = |system: &dyn Fn(f64) -> Outcome| search(bounds, system).0;
        assert_eq!(concluded(&limit(1e6)), Conclusion::AllKept { kept: 1_000.0 });
        assert_eq!(concluded(&limit(1_000.0)), Conclusion::AllKept { kept: 1_000.0 });
        assert_eq!(concluded(&limit(9.0)), Conclusion::NoneKept { broken: 10.0 });
        let never = |_| Outcome::Generator;
        let nothing = Conclusion::GeneratorLimit { kept: None, limit: 10.0 };
        assert_eq!(concluded(&never), nothing);
        let one_rate = Bounds { from: 10.0, max: 10.0, ..bounds };
        assert_eq!(search(one_rate, limit(5.0)).0, Conclusion::NoneKept { broken: 10.0 });
        assert_eq!(search(one_rate, limit(10.0)).0, Conclusion::AllKept { kept: 10.0 });
    }

    #[test]
    fn a_generator_that_fails_now_and_then_is_no_limit() {
        let mut calls = 0;
        let (conclusion, _) = search(BOUNDS, |hz| {
            calls += 1;
            if calls % 3 == 0 { Outcome::Generator } else { limit(800.0)(hz) }
        });
        assert_eq!(conclusion, Conclusion::Found { kept: 800.0, broken: 808.7 });
    }

    #[test]
    fn a_generator_that_fails_just_below_the_targets_limit_hides_it_from_nobody() {
        let (conclusion, _) = search(BOUNDS, |hz| match hz {
            ..785.0 => Outcome::Kept,
            ..801.0 => Outcome::Generator,
            _ => Outcome::Broken,
        });
        let Conclusion::Found { kept, broken } = conclusion else { panic!("{conclusion:?}") };
        assert!(kept < 785.0 && broken >= 801.0 && broken <= kept * NEAR, "{conclusion:?}");
    }

    #[test]
    fn one_step_that_lies_is_outvoted() {
        // The only lie is the first step above 400.
        let mut told = false;
        let (conclusion, _) = search(BOUNDS, |hz| {
            if hz > 790.0 && !told {
                told = true;
                return Outcome::Broken;
            }
            limit(3_000.0)(hz)
        });
        // It is noticed when the bracket below 800 is narrow, and the search goes on from there.
        let Conclusion::Found { kept, broken } = conclusion else { panic!("{conclusion:?}") };
        assert!(kept <= 3_000.0 && broken > 3_000.0 && broken / kept <= 1.02, "{conclusion:?}");
    }

    #[test]
    fn contradictions_are_told() {
        let mut search = Search::new(BOUNDS);
        let mut calls = 0;
        while let Some(step) = search.next() {
            calls += 1;
            let lies = step.purpose == Purpose::Confirm && calls == 12;
            search.result(step, if lies { Outcome::Kept } else { limit(800.0)(step.hz) });
        }
        assert_eq!(search.contradictions(), [808.7]);
        assert_eq!(search.conclusion(), Conclusion::Found { kept: 800.0, broken: 808.7 });
    }

    #[test]
    fn too_few_steps_give_a_bracket() {
        for (max_steps, kept, missed) in
            [(0, None, None), (1, Some(100.0), None), (5, Some(800.0), Some(1_600.0))]
        {
            let (conclusion, steps) = search(Bounds { max_steps, ..BOUNDS }, limit(800.0));
            assert_eq!(conclusion, Conclusion::Unfinished { kept, missed });
            assert_eq!(steps.len(), max_steps);
        }
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        (0.0..6.0, 0.005..0.5).prop_map(|(exponent, precision)| {
            let from = four_digits(10_f64.powf(exponent));
            Bounds { from, min: from * 1e-3, max: from * 1e6, precision, max_steps: 1_000 }
        })
    }

    proptest! {
        #[test]
        fn a_limit_is_found_within_the_precision_in_few_steps(
            bounds in bounds(), above in -2.9..5.9,
        ) {
            let at = bounds.from * 10_f64.powf(above);
            let (conclusion, steps) = search(bounds, limit(at));
            let Conclusion::Found { kept, broken } = conclusion else {
                return Err(TestCaseError::fail(format!("{conclusion:?}")));
            };
            prop_assert!(kept <= at && at < broken, "{conclusion:?} {at}");
            prop_assert!(broken <= kept * (1.0 + bounds.precision), "{conclusion:?}");
            let (count, most) = (steps.len(), most_steps(bounds, at));
            prop_assert!(count <= most, "{count} steps, at most {most}");
        }

        /// Near the limit either may happen, in a band of 10 %; further away nothing lies.
        #[test]
        fn noise_moves_the_answer_no_further_than_the_noise_goes(
            bounds in bounds(), above in -2.5..5.5, luck in proptest::collection::vec(any::<bool>(), 64),
        ) {
            let at = bounds.from * 10_f64.powf(above);
            let mut luck = luck.into_iter().cycle();
            let (conclusion, steps) = search(bounds, |hz| match hz / at {
                ..0.95 => Outcome::Kept,
                1.05.. => Outcome::Broken,
                _ if luck.next().is_some_and(|lucky| lucky) => Outcome::Kept,
                _ => Outcome::Broken,
            });
            let Conclusion::Found { kept, broken } = conclusion else {
                return Err(TestCaseError::fail(format!("{conclusion:?}")));
            };
            prop_assert!(kept < at * 1.05 && broken >= at * 0.95, "{conclusion:?} {at}");
            prop_assert!(broken <= kept * (1.0 + bounds.precision), "{conclusion:?}");
            prop_assert!(steps.len() < 120, "{} steps", steps.len());
        }

        /// The generator's limit is never called the target's.
        #[test]
        fn the_generators_limit_is_told_as_such(bounds in bounds(), above in -2.9..5.5) {
            let at = bounds.from * 10_f64.powf(above);
            let system = |hz| if hz <= at { Outcome::Kept } else { Outcome::Generator };
            let (conclusion, steps) = search(bounds, system);
            let Conclusion::GeneratorLimit { kept: Some(kept), limit } = conclusion else {
                return Err(TestCaseError::fail(format!("{conclusion:?}")));
            };
            prop_assert!(kept <= at && at < limit, "{conclusion:?} {at}");
            prop_assert!(limit <= kept * (1.0 + bounds.precision), "{conclusion:?}");
            // Each failure is repeated twice. One rate more is tried, a little above.
            prop_assert!(steps.len() <= 3 * (most_steps(bounds, at) + 1));
        }

        /// Whatever happens: the search ends, stays within its bounds, and has no rate that it knows.
        #[test]
        fn anything_may_happen(
            bounds in bounds(), outcomes in proptest::collection::vec(0..3, 1_000),
        ) {
            let mut outcomes = outcomes.into_iter();
            let mut tried = Vec::new();
            let (_, steps) = search(bounds, |_| match outcomes.next() {
                Some(0) => Outcome::Kept,
                Some(1) => Outcome::Broken,
                _ => Outcome::Generator,
            });
            for step in &steps {
                prop_assert!((bounds.min..=bounds.max).contains(&step.hz), "{step:?}");
                let is_new = matches!(step.purpose, Purpose::Bracket | Purpose::Bisect);
                prop_assert_eq!(is_new, !tried.contains(&step.hz), "{:?}", step);
                tried.push(step.hz);
            }
            prop_assert!(steps.len() < 1_000);
        }
    }
}
