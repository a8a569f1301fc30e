//! Tests that a limiter decides as its limits do, with the lock and on the fast path.

use crate::limits::{any_limit, any_limits};
use nanopace_limits::custom::Receipt;
use nanopace_limits::{Limiter, Limits, Reservation, Rule};
use nanopace_nanos::{Clock, ManualClock};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Acquire(u64),
    Decide,
    Look,
    Reserve(u64),
    Settle(usize, u64),
    Change(Limits),
    ChangeBack,
}

fn any_steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let pause = prop_oneof![4 => Just(0), 3 => 0..10_000_u64, 3 => 0..100_000_u64];
    let step = prop_oneof![
        8 => prop_oneof![4 => Just(1_u64), 1 => 0..30_u64].prop_map(Step::Acquire),
        1 => Just(Step::Decide),
        1 => Just(Step::Look),
        2 => (0..8_u64).prop_map(Step::Reserve),
        2 => (any::<usize>(), 0..12_u64).prop_map(|(place, cost)| Step::Settle(place, cost)),
        1 => any_limits().prop_map(Step::Change),
        1 => Just(Step::ChangeBack),
    ];
    prop::collection::vec((pause, step), 1..80)
}

struct Rules {
    limits: Arc<Limits>,
    state: <Limits as Rule>::State,
}

impl Rules {
    fn change(&mut self, limits: Limits, clock: &ManualClock) {
        let Rules { limits: old, state } = self;
        old.advance(state, clock.now());
        *state = limits.carry_over(old, state, clock.now());
        *old = Arc::new(limits);
    }
}

proptest! {
    #[test]
    fn a_limiter_decides_as_its_limits_do(
        first in prop_oneof![3 => any_limit().prop_map(|limit| Limits::new([limit])), 1 => any_limits()],
        steps in any_steps(),
    ) {
        let clock = ManualClock::new();
        let limiter = Limiter::with_clock(first.clone(), clock.clone());
        let mut rules = Rules { limits: Arc::new(first.clone()), state: first.fresh() };
        let mut reserved: Vec<(Reservation, Receipt)> = Vec::new();
        for (pause, step) in steps {
            clock.advance(Duration::from_nanos(pause));
            let (now, Rules { limits, state }) = (clock.now(), &mut rules);
            match step {
                Step::Acquire(n) => {
                    prop_assert_eq!(limiter.try_acquire_costs(n), limits.try_acquire_costs(state, now, n));
                }
                Step::Decide => prop_assert_eq!(limiter.decide(), limits.decide(state, now, 1)),
                Step::Look => prop_assert_eq!(limiter.standing(), limits.tightest(state, now).1),
                Step::Reserve(n) => match (limiter.reserve(n), limits.reserve(state, now, n)) {
                    (Ok(reservation), Ok(receipt)) => reserved.push((reservation, receipt)),
                    (told, expected) => prop_assert_eq!(told.err(), expected.err()),
                },
                Step::Settle(place, cost) if !reserved.is_empty() => {
                    let (reservation, receipt) = reserved.swap_remove(place % reserved.len());
                    reservation.commit_costs(cost);
                    limits.settle(state, now, &receipt, cost);
                }
                Step::Settle(..) => (),
                Step::Change(new) => {
                    limiter.set_limits(new.clone());
                    rules.change(new, &clock);
                }
                Step::ChangeBack => {
                    limiter.set_limits(first.clone());
                    rules.change(first.clone(), &clock);
                }
            }
        }
    }
}
