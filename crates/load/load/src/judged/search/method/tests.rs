//! Tests searches on simulated targets.

use super::*;
use proptest::prelude::*;

const BOUNDS: Bounds =
    Bounds { from: 100.0, min: 1.0, max: 1e9, precision: 0.02, max_steps: 1_000 };

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
fn limits_outside_of_the_bounds_are_reported() {
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
fn a_generator_that_fails_just_below_the_targets_limit_does_not_hide_it() {
    let (conclusion, _) = search(BOUNDS, |hz| match hz {
        ..785.0 => Outcome::Kept,
        ..801.0 => Outcome::Generator,
        _ => Outcome::Broken,
    });
    let Conclusion::Found { kept, broken } = conclusion else { panic!("{conclusion:?}") };
    assert!(kept < 785.0 && broken >= 801.0 && broken <= kept * NEAR, "{conclusion:?}");
}

#[test]
fn one_wrong_step_is_outvoted() {
    let mut told = false;
    let (conclusion, _) = search(BOUNDS, |hz| {
        if hz > 790.0 && !told {
            told = true;
            return Outcome::Broken;
        }
        limit(3_000.0)(hz)
    });
    // The search notices the wrong result when the bracket below 800/s is narrow, and then continues at higher rates.
    let Conclusion::Found { kept, broken } = conclusion else { panic!("{conclusion:?}") };
    assert!(kept <= 3_000.0 && broken > 3_000.0 && broken / kept <= 1.02, "{conclusion:?}");
}

/// The generator fails just below the wrong step, so the rate of that step does not become an end of the bracket.
#[test]
fn one_wrong_step_above_the_generators_limit_is_outvoted() {
    let bounds = Bounds { from: 1_000.0, min: 1.0, max: 1e6, precision: 0.05, max_steps: 1_000 };
    let mut told = false;
    let (conclusion, _) = search(bounds, |hz| match hz {
        ..985.0 => Outcome::Kept,
        ..1_001.0 => Outcome::Generator,
        _ if !told => {
            told = true;
            Outcome::Broken
        }
        _ => limit(5_000.0)(hz),
    });
    let Conclusion::Found { kept, broken } = conclusion else { panic!("{conclusion:?}") };
    assert!(kept <= 5_000.0 && broken > 5_000.0 && broken / kept <= 1.05, "{conclusion:?}");
}

#[test]
fn contradictions_are_reported() {
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
fn a_step_that_was_not_judged_has_missed_nothing() {
    let mut search = Search::new(Bounds { max_steps: 1, ..BOUNDS });
    let step = search.next().unwrap();
    search.result(step, Outcome::Generator);
    assert_eq!(search.conclusion(), Conclusion::Unfinished { kept: None, missed: None });
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

    /// At rates within 5 % of the limit, a step can have either result.
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

    #[test]
    fn the_generators_limit_is_reported_as_such(bounds in bounds(), above in -2.9..5.5) {
        let at = bounds.from * 10_f64.powf(above);
        let system = |hz| if hz <= at { Outcome::Kept } else { Outcome::Generator };
        let (conclusion, steps) = search(bounds, system);
        let Conclusion::GeneratorLimit { kept: Some(kept), limit } = conclusion else {
            return Err(TestCaseError::fail(format!("{conclusion:?}")));
        };
        prop_assert!(kept <= at && at < limit, "{conclusion:?} {at}");
        prop_assert!(limit <= kept * (1.0 + bounds.precision), "{conclusion:?}");
        // A rate at which the generator fails is tried three times. One more rate is tried, slightly above the limit.
        prop_assert!(steps.len() <= 3 * (most_steps(bounds, at) + 1));
    }

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
