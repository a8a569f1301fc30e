//! What a grant tells of its operation.

use crate::common::{MILLI, SECOND, at, build, span};
use nanopace::{Claim, Grant, ManualClock, Pacer, Shape};
use proptest::prelude::*;

/// Wait time and service time make the response time, for each operation.
#[test]
fn each_time_is_what_it_is_called() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).build();
    // When each slot starts and ends, and its wait, service and response time, in milliseconds.
    for (starts, ends, times) in [
        (0, 30, [0, 30, 30]),
        (104, 110, [4, 6, 10]),
        (206, 450, [6, 244, 250]),
        (450, 451, [150, 1, 151]),
    ] {
        clock.set(at(starts * MILLI));
        let grant = pacer.try_acquire().expect("due");
        let end = at(ends * MILLI);
        let told = [grant.wait_time(), end - grant.actual_start(), grant.response_time(end)];
        assert_eq!(told, times.map(|millis| span(millis * MILLI)));
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Advance(u64),
    Acquire,
    Many(u32),
    Claim,
    /// Starts the youngest claim, or gives it back.
    Start,
    GiveBack,
}

impl Step {
    /// The start that it makes, if any.
    fn start<'p>(
        self,
        pacer: &'p Pacer,
        clock: &ManualClock,
        claims: &mut Vec<Claim<'p>>,
    ) -> Option<Grant> {
        match self {
            Step::Advance(ns) => clock.advance(span(ns)),
            Step::Acquire => return pacer.acquire().ok(),
            Step::Many(slots) => return pacer.acquire_many(slots).ok(),
            Step::Claim => claims.extend(pacer.claim()),
            Step::Start => return claims.pop()?.start().ok(),
            Step::GiveBack => drop(claims.pop()),
        }
        None
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => (1_u64..100_000).prop_map(Step::Advance),
        4 => Just(Step::Acquire),
        1 => (1_u32..4).prop_map(Step::Many),
        1 => prop_oneof![Just(Step::Claim), Just(Step::Start), Just(Step::GiveBack)],
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    /// However each of them is made, and with slots that are not taken in their order.
    #[test]
    fn no_start_of_a_thread_is_before_its_last(
        shape in prop_oneof![Just("hold 1M/s 1h"), Just("ramp 1k/s..1M/s 1h")],
        arrivals in prop_oneof![Just("even"), Just("poisson")],
        steps in steps(),
    ) {
        let clock = ManualClock::new();
        let shape: Shape = shape.parse().unwrap();
        let pacer = Pacer::shaped(shape).arrivals(arrivals.parse().unwrap()).clock(clock.clone()).build();
        clock.advance(span(SECOND));
        let mut claims = Vec::new();
        let starts = steps.into_iter().filter_map(|step| step.start(&pacer, &clock, &mut claims));
        let starts: Vec<_> = starts.map(Grant::actual_start).collect();
        prop_assert!(starts.is_sorted(), "{starts:?}");
    }
}
