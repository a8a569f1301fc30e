//! Tests a load that is corrected repeatedly, and compares its starts with times that are computed in whole numbers.

use crate::common::{SECOND, assert_balanced, span, strictness};
use nanopace::driver::Drive as _;
use nanopace::{Claim, Grant, ManualClock, Nanos, Pacer, Shape};
use proptest::prelude::*;

/// A load: pairs of a rate in slots per second and its duration in milliseconds. The last rate never ends.
type Plan = Vec<(u64, u64)>;

#[derive(Clone, Debug)]
enum Step {
    Clock(u64),
    Start(u16),
    Claim,
    StartHeld(usize),
    Correct(Plan),
}

struct Run {
    clock: ManualClock,
    pacer: Pacer,
    plan: Plan,
    due: Vec<u64>,
    held: Vec<Claim<'static>>,
    started: Vec<Grant>,
}

fn shape(plan: &Plan) -> Shape {
    let part = |&(hz, ms): &(u64, u64)| format!("hold {hz}/s {ms}ms, ");
    let last = format!("hold {}/s 1s forever", plan.last().expect("a part").0);
    (plan.iter().map(part).collect::<String>() + &last).parse().expect("a shape")
}

fn time_of(plan: &Plan, slot: usize) -> u64 {
    let (mut time, mut missing) = (0, slot as u64 * SECOND); // a slot has 10^9 parts, so that the result is exact
    for &(hz, ms) in plan.iter().chain(&plan.last().map(|&(hz, _)| (hz, u64::MAX >> 32))) {
        let parts = hz * ms * 1_000_000;
        if parts > missing {
            return time + missing.div_ceil(hz);
        }
        (time, missing) = (time + ms * 1_000_000, missing - parts);
    }
    u64::MAX
}

impl Run {
    fn new(plan: Plan, strict: f64, backlog_ns: Option<u64>) -> Run {
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape(&plan)).strictness(strictness(strict));
        let pacer = builder.clock(clock.clone()).build();
        pacer.set_max_backlog(backlog_ns.map(span));
        Run { clock, pacer, plan, due: Vec::new(), held: Vec::new(), started: Vec::new() }
    }

    fn due(&self) -> Vec<u64> {
        let later = (self.due.len()..).map(|slot| time_of(&self.plan, slot));
        let later = later.take_while(|&time| time <= self.pacer.now().as_nanos());
        self.due.iter().copied().chain(later).collect()
    }

    fn next(&self) -> (usize, Vec<Nanos>) {
        let due = |slots| self.pacer.due_after(slots).expect("not ended");
        (usize::try_from(self.pacer.ledger().granted).unwrap(), (0..16).map(due).collect())
    }

    fn take(&mut self, step: Step) {
        let Run { clock, pacer, held, started, .. } = self;
        match step {
            Step::Clock(ns) => clock.advance(span(ns)),
            Step::Start(most) => (0..most).for_each(|_| started.extend(pacer.try_acquire().ok())),
            Step::Claim => held.push(pacer.claim().expect("not ended").into_owned()),
            Step::StartHeld(which) if !held.is_empty() => {
                let which = which % held.len();
                if let Ok(grant) = held[which].start() {
                    started.push(grant);
                    drop(held.swap_remove(which));
                }
            }
            Step::Correct(plan) => {
                self.pacer.correct_shape(shape(&plan));
                (self.due, self.plan) = (self.due(), plan);
            }
            Step::StartHeld(_) => {}
        }
        assert_balanced(&self.pacer);
    }
}

#[test]
fn a_load_that_is_corrected_to_a_constant_rate_has_no_shape() {
    let pacer =
        Pacer::shaped("ramp 1/s..9/s 10s".parse().unwrap()).clock(ManualClock::new()).build();
    pacer.correct_shape("hold 5/s 1s forever".parse().unwrap());
    assert!(pacer.shape().is_none() && pacer.rate() == "5/s".parse().unwrap());
    pacer.correct_shape("hold 5/s 10s".parse().unwrap());
    assert!(pacer.shape().is_some());
}

fn plan() -> impl Strategy<Value = Plan> {
    let hz = prop::sample::select(vec![0_u64, 1, 3, 7, 10, 20, 40]);
    prop::collection::vec((hz, 100_u64..1_500), 1..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop_oneof![(1_u64..20).prop_map(|n| n * 50_000_000), 1..SECOND].prop_map(Step::Clock),
        4 => (1_u16..9).prop_map(Step::Start),
        1 => Just(Step::Claim),
        1 => any::<usize>().prop_map(Step::StartHeld),
        3 => plan().prop_map(Step::Correct),
    ];
    prop::collection::vec(step, 1..20)
}

proptest! {
    #[test]
    fn slots_of_a_corrected_load_start_at_its_times(plan in plan(), steps in steps()) {
        let mut run = Run::new(plan, 0.0, None);
        for step in steps.into_iter().chain([Step::Clock(5 * SECOND)]) {
            run.take(step);
            let now = run.pacer.now();
            prop_assert_eq!(run.pacer.asked_before(now + span(1)), run.due().len() as u64);
        }
        let due = run.due();
        run.held.clear();
        run.take(Step::Clock(1)); // starts are exact to 1 ns
        run.take(Step::Start(1_100));
        run.started.sort_by_key(|grant| grant.slot());
        prop_assert!(run.started.len() - due.len() <= 1, "{:?}", run.started);
        for ((slot, time), grant) in (0..).zip(due).zip(&run.started) {
            let off_ns = grant.intended_start().as_nanos().abs_diff(time);
            prop_assert!(grant.slot() == slot && off_ns <= 1, "{grant:?}: slot {slot} at {time}");
        }
    }

    #[test]
    fn late_starts_bring_nothing_forward(
        (plan, steps, backlog_ns) in (plan(), steps(), prop::option::of(0..SECOND)),
        strict in prop::sample::select(vec![0.0, 0.3, 1.0, 1.5]),
    ) {
        let mut run = Run::new(plan, strict, backlog_ns);
        for step in steps {
            let (now, is_start) = (run.pacer.now(), !matches!(step, Step::Clock(_) | Step::Correct(_)));
            let (asked, (taken, before)) = (run.pacer.asked_before(now + span(SECOND)), run.next());
            run.take(step);
            let (taken_now, after) = run.next();
            let moved = before.iter().skip(taken_now - taken).zip(&after);
            if is_start {
                prop_assert_eq!(run.pacer.asked_before(now + span(SECOND)), asked);
                moved.for_each(|(&was, &is)| assert!(is.max(now) + span(1) >= was, "{was:?} {is:?}"));
            }
        }
    }
}
