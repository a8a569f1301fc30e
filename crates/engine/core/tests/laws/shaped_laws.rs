//! Tests the laws of the engine with random shapes, for several kinds of callers, late policies, changes and pauses.

use crate::common::random::shapes;
use crate::common::{assert_balanced, at, intended_ns, intended_starts, span, wait_ns};
use nanopace::{Claim, Grant, ManualClock, Pacer, PacerBuilder, Rate, Refused, Shape};
use proptest::prelude::*;
use proptest::sample::Index;
use std::time::Duration;

/// Limits the slots of a pacer, because shapes may have tens of millions of slots.
const SLOTS: u64 = 300;

/// The maximum difference between two starts. A chord is off by at most a nanosecond in either direction, so two chords
/// differ by at most 2 ns.
const OFF_NS: u64 = 2;

const LONG_NS: u64 = 100 * crate::common::SECOND;

fn shaped(shape: &Shape, clock: &ManualClock) -> PacerBuilder {
    let builder = Pacer::shaped(shape.clone()).clock(clock.clone());
    builder.tolerance(Duration::ZERO).slots(SLOTS)
}

fn undisturbed(shape: &Shape) -> Vec<u64> {
    let pacer = shaped(shape, &ManualClock::jumping()).build();
    intended_starts(std::iter::from_fn(|| pacer.acquire().ok()))
}

fn assert_each_once(shape: &Shape, starts: &[u64]) {
    let slots = undisturbed(shape);
    assert_eq!(starts.len(), slots.len(), "{shape}");
    assert_about(starts, &slots);
}

fn assert_about(starts: &[u64], slots: &[u64]) {
    for (n, (start, slot)) in starts.iter().zip(slots).enumerate() {
        assert!(start.abs_diff(*slot) <= OFF_NS, "{n}: {start} ns, not {slot} ns");
    }
}

fn take(pacer: &Pacer, most: usize) -> Vec<Grant> {
    let due = std::iter::from_fn(|| pacer.try_acquire().ok()).take(most);
    let grants = due.inspect(|grant| crate::common::assert_started(pacer, *grant)).collect();
    assert_balanced(pacer);
    grants
}

fn stall(pacer: &Pacer, clock: &ManualClock, steps: &[(u64, usize)]) -> Vec<Vec<Grant>> {
    let mut taken = Vec::new();
    for &(nanos, most) in steps {
        clock.advance(span(nanos));
        taken.push(take(pacer, most));
    }
    taken
}

fn finish(pacer: &Pacer, clock: &ManualClock) -> Vec<Grant> {
    let mut rest = Vec::new();
    loop {
        match pacer.try_acquire() {
            Ok(grant) => rest.push(grant),
            Err(Refused::NotUntil(when)) => clock.set(when),
            Err(other) => {
                assert_eq!(other, Refused::Finished);
                return rest;
            }
        }
    }
}

fn stalls() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((0_u64..300_000_000, prop_oneof![0_usize..10, Just(1_000)]), 1..12)
}

fn limits() -> impl Strategy<Value = u64> {
    1_000_000_u64..400_000_000
}

#[derive(Clone, Debug)]
enum Use {
    Acquire,
    Lane(usize),
    GiveBack(usize),
    Claim,
    Start(Index),
    Drop(Index),
}

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let one = prop_oneof![
        6 => Just(Use::Acquire),
        9 => (0_usize..3).prop_map(Use::Lane),
        1 => (0_usize..3).prop_map(Use::GiveBack),
        6 => Just(Use::Claim),
        3 => any::<Index>().prop_map(Use::Start),
        3 => any::<Index>().prop_map(Use::Drop),
    ];
    prop::collection::vec(one, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_slot_starts_once_whichever_caller_takes_it(shape in shapes(), late in 0_u64..3_000_000_000, uses in uses()) {
        let clock = ManualClock::jumping();
        let pacer = shaped(&shape, &clock).build();
        clock.set(at(late));
        let mut lanes = [(); 3].map(|()| pacer.lane());
        let mut claims: Vec<Claim<'_>> = Vec::new();
        let mut grants = Vec::new();
        for one in uses {
            match one {
                Use::Acquire => grants.extend(pacer.acquire()),
                Use::Lane(lane) => grants.extend(lanes[lane].acquire()),
                Use::GiveBack(lane) => lanes[lane].give_back(),
                Use::Claim => claims.extend(pacer.claim()),
                Use::Start(which) if !claims.is_empty() => {
                    let mut claim = claims.swap_remove(which.index(claims.len()));
                    match claim.start() {
                        Ok(grant) => grants.push(grant),
                        Err(_) => claims.push(claim),
                    }
                }
                Use::Drop(which) if !claims.is_empty() => {
                    drop(claims.swap_remove(which.index(claims.len())));
                }
                Use::Start(_) | Use::Drop(_) => {}
            }
        }
        for grant in &grants {
            crate::common::assert_started(&pacer, *grant);
        }
        drop((lanes, claims));
        grants.extend(std::iter::from_fn(|| pacer.acquire().ok()));
        assert_balanced(&pacer);
        assert_each_once(&shape, &intended_starts(grants));
    }

    #[test]
    fn a_stall_loses_no_time_that_is_made_up_for(shape in shapes(), ratio in prop_oneof![Just(0.0), 1.05_f64..3.0], stalls in stalls()) {
        let clock = ManualClock::new();
        let pacer = shaped(&shape, &clock).strictness(crate::common::strictness(ratio)).build();
        let mut grants = stall(&pacer, &clock, &stalls).concat();
        grants.extend(finish(&pacer, &clock));
        assert_each_once(&shape, &intended_starts(grants));
        clock.advance(span(LONG_NS));
        let ledger = pacer.ledger();
        prop_assert_eq!((ledger.idle, ledger.waiting, ledger.backlog), Default::default());
    }

    #[test]
    fn idle_time_is_the_part_of_each_wait_that_was_forfeited(shape in shapes(), part in prop_oneof![Just(1.0), 0.1_f64..1.0], stalls in stalls()) {
        let clock = ManualClock::new();
        let pacer = shaped(&shape, &clock).strictness(crate::common::strictness(part)).build();
        let mut given_up = 0.0;
        for stalled in stalls {
            let grants = stall(&pacer, &clock, &[stalled]).concat();
            if pacer.is_finished() || shape.duration().is_none_or(|end| pacer.now() >= at(0) + end) {
                break;
            }
            given_up += grants.iter().map(|grant| grant.wait_time().as_secs_f64() * part).sum::<f64>();
            let idle = pacer.ledger().idle.as_secs_f64();
            prop_assert!((idle - given_up).abs() < 1e-6, "{idle} s, not {given_up} s");
        }
    }

    #[test]
    fn slots_that_are_not_skipped_start_within_the_limit(shape in shapes(), limit in limits(), stalls in stalls()) {
        let clock = ManualClock::new();
        let pacer = shaped(&shape, &clock).skip_later_than(span(limit)).build();
        let mut grants = stall(&pacer, &clock, &stalls).concat();
        grants.extend(finish(&pacer, &clock));
        prop_assert!(grants.iter().all(|grant| wait_ns(*grant) <= limit));
        let slots = undisturbed(&shape);
        let ledger = pacer.ledger();
        prop_assert_eq!(ledger.granted, u64::try_from(grants.len()).unwrap());
        prop_assert_eq!(ledger.granted + ledger.skipped, u64::try_from(slots.len()).unwrap());
        for start in intended_starts(grants) {
            prop_assert!(slots.iter().any(|slot| slot.abs_diff(start) <= OFF_NS), "{start} ns");
        }
    }

    #[test]
    fn after_a_late_start_no_slot_is_later_than_the_maximum_backlog(shape in shapes(), limit in limits(), stalls in stalls()) {
        let clock = ManualClock::new();
        let pacer = shaped(&shape, &clock).max_backlog(span(limit)).build();
        for grants in stall(&pacer, &clock, &stalls) {
            let behind = grants.iter().skip(1).map(|grant| wait_ns(*grant)).max();
            prop_assert!(behind <= Some(limit), "{behind:?}");
        }
    }

    #[test]
    fn a_pause_moves_every_slot_by_its_length(shape in shapes(), steps in prop::collection::vec((0_u64..300_000_000, 0_u64..2_000_000_000, 0_usize..60), 1..12)) {
        let clock = ManualClock::new();
        let pacer = shaped(&shape, &clock).build();
        let (mut starts, mut paused) = (Vec::new(), 0);
        for (running, pause, most) in steps {
            clock.advance(span(running));
            pacer.pause();
            prop_assert_eq!(pacer.try_acquire().err().filter(|_| !pacer.is_finished()).unwrap_or(Refused::Paused), Refused::Paused);
            clock.advance(span(pause));
            pacer.resume();
            paused += pause;
            starts.extend(take(&pacer, most).into_iter().map(|grant| intended_ns(grant) - paused));
        }
        starts.extend(finish(&pacer, &clock).into_iter().map(|grant| intended_ns(grant) - paused));
        assert_each_once(&shape, &starts);
    }

    /// A slot that waited for the rate to rise from zero may become due at the change.
    #[test]
    fn a_change_keeps_the_slots_that_are_due_and_adds_none(shape in shapes(), next in shapes(), moment in 0_u64..1_000_000_000, taken in 0_usize..20) {
        let built = |clock: &ManualClock| {
            let pacer = Pacer::shaped(shape.clone()).clock(clock.clone()).build();
            clock.advance(span(moment));
            take(&pacer, taken);
            pacer
        };
        let (unchanged, pacer) = (built(&ManualClock::new()), built(&ManualClock::new()));
        let was_zero = pacer.rate() == Rate::SLOWEST;
        pacer.set_shape(next);
        let due = [&unchanged, &pacer].map(|pacer| pacer.ledger().backlog_slots);
        prop_assert!(due[0] == due[1] || was_zero && due[0] + 1 == due[1], "{due:?}");
        assert_balanced(&pacer);
        let [before, after] = [&unchanged, &pacer].map(|pacer| intended_starts(take(pacer, 200)));
        assert_about(&after, &before);
    }
}
