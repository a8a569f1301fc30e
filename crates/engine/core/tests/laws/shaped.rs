//! Tests pacers whose rate follows a shape, whose slots are unevenly spaced, or that have a share of a load.

use crate::common::random::shapes;
use crate::common::{MILLI, at, span};
use nanopace::driver::Drive as _;
use nanopace::{
    Arrivals, Curve, Ended, Grant, ManualClock, Nanos, Pacer, Rate, Refused, Shape, Shard,
    Strictness,
};
use proptest::prelude::*;
use std::iter;
use std::thread;
use std::time::Duration;

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

fn pacer(shape: &Shape, clock: &ManualClock) -> Pacer {
    Pacer::shaped(shape.clone()).clock(clock.clone()).build()
}

fn starts(mut acquire: impl FnMut() -> Option<Grant>, slots: usize) -> Vec<Duration> {
    iter::from_fn(|| Some(acquire()?.intended_start() - Nanos::ZERO)).take(slots).collect()
}

fn assert_on(shape: &Shape, starts: &[Duration], slots: impl IntoIterator<Item = u64>) {
    for (&start, slot) in starts.iter().zip(slots) {
        let exact = shape.time_of(slot).unwrap_or_else(|| panic!("no slot {slot}: {shape}"));
        assert!(
            start.abs_diff(exact).as_nanos() <= 1,
            "slot {slot} of {shape}: {start:?}, {exact:?}"
        );
    }
    assert!(starts.is_sorted(), "{shape}");
}

const SLOTS: usize = 3_000;

proptest! {
    #[test]
    fn intended_starts_are_those_of_the_shape(shape in shapes(), late in 0_u64..3_000_000_000, by_lane in any::<bool>()) {
        let clock = ManualClock::jumping();
        let pacer = pacer(&shape, &clock);
        clock.set(at(late));
        let mut lane = by_lane.then(|| pacer.lane());
        let acquire = || match &mut lane {
            Some(lane) => lane.acquire(),
            None => pacer.acquire(),
        };
        let mut acquire = acquire;
        let starts = starts(|| acquire().ok(), SLOTS);
        assert_on(&shape, &starts, 0..);
        if starts.len() < SLOTS {
            let slots = u64::try_from(starts.len()).unwrap();
            prop_assert_eq!(shape.time_of(slots), None, "after {} slots", slots);
            prop_assert_eq!(pacer.acquire(), Err(Ended::Finished));
        }
    }

    #[test]
    fn a_slot_starts_at_the_moment_that_its_refusal_named(shape in shapes()) {
        let clock = ManualClock::new();
        let pacer = pacer(&shape, &clock);
        for _ in 0..200 {
            match pacer.try_acquire() {
                Ok(grant) => prop_assert_eq!(grant.wait_time(), Duration::ZERO),
                Err(Refused::NotUntil(when)) => {
                    prop_assert!(when > pacer.now());
                    clock.set(when);
                    prop_assert_eq!(pacer.try_acquire().map(Grant::intended_start), Ok(when));
                }
                Err(other) => {
                    prop_assert_eq!(other, Refused::Finished);
                    break;
                }
            }
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// After the late start, the shape's count grows by one from each intended start to the next.
    #[test]
    fn a_forfeit_moves_slots_and_not_the_shape(shape in shapes(), on_time in 0_usize..100, stall in 1_000_000_u64..1_000_000_000) {
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape.clone()).strictness(crate::common::strictness(1.0));
        let pacer = builder.clock(clock.clone()).build();
        let next = || loop {
            match pacer.try_acquire() {
                Err(Refused::NotUntil(when)) => clock.set(when),
                other => return other.ok(),
            }
        };
        prop_assume!(starts(next, on_time).len() == on_time);
        clock.advance(span(stall));
        let Some(late) = next() else { return Ok(()) };
        let since = late.actual_start() - Nanos::ZERO;
        let behind = starts(next, 300);
        for (n, start) in (0_u32..).zip(&behind) {
            let made = shape.count_at(*start) - shape.count_at(since);
            prop_assert!((made - f64::from(n) - 1.0).abs() < 0.1, "{n}: {made}");
        }
        if behind.len() < 300 {
            let all = shape.count().unwrap() - shape.count_at(since);
            let slots = f64::from(u32::try_from(behind.len()).unwrap());
            prop_assert!((slots - all).abs() < 1.1, "{} {all}", behind.len());
        }
    }

    #[test]
    fn owed_time_is_paid_at_a_multiple_of_the_shape(ratio in 1.1_f64..3.0, stall in 1_000_u64..3_000) {
        let shape = shape("ramp 10/s..50/s 10s, hold 1h");
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape.clone()).strictness(crate::common::strictness(ratio));
        let pacer = builder.until(Duration::from_secs(10)).clock(clock.clone()).build();
        clock.advance(Duration::from_millis(stall));
        let made = |grant: Grant| shape.count_at(grant.actual_start() - Nanos::ZERO);
        let late = made(pacer.try_acquire().unwrap());
        let mut paid = 0.0;
        for _ in 0..3_000 {
            while let Ok(grant) = pacer.try_acquire() {
                paid += 1.0;
                prop_assert!(paid <= ratio * (made(grant) - late) + 0.01, "{paid}: {grant:?}");
            }
            clock.advance(Duration::from_millis(10));
        }
        prop_assert_eq!(pacer.ledger().granted, 300);
    }

    #[test]
    fn going_on_with_the_rest_of_a_shape_changes_nothing(shape in shapes(), poisson in any::<bool>(), every in 1_u64..20_000_000) {
        let built = |clock| {
            let arrivals = if poisson { Arrivals::poisson(5) } else { Arrivals::even() };
            Pacer::shaped(shape.clone()).arrivals(arrivals).clock(clock).build()
        };
        let (clock, undisturbed) = (ManualClock::new(), built(ManualClock::jumping()));
        let pacer = built(clock.clone());
        for _ in 0..50 {
            clock.advance(span(every));
            let Ok(rest) = shape.clone().skip(pacer.now() - Nanos::ZERO) else { break };
            pacer.set_shape(rest);
            for grant in iter::from_fn(|| pacer.try_acquire().ok()).take(20) {
                let start = undisturbed.acquire().unwrap().intended_start();
                let moved = grant.intended_start().as_nanos().abs_diff(start.as_nanos());
                // If the slot lies where the rate is zero, rounding of the count moves its start by some nanoseconds.
                let [here, there] =
                    [grant.intended_start(), start].map(|at| shape.count_at(at - Nanos::ZERO));
                prop_assert!(moved <= 2 || (here - there).abs() < 1e-12, "by {moved} ns");
            }
        }
    }

    #[test]
    fn shards_make_the_whole_load(shape in shapes(), weights in prop::collection::vec(1_u32..4, 1..4), poisson in any::<bool>()) {
        let load = |shard| {
            let arrivals = if poisson { Arrivals::poisson(5) } else { Arrivals::even() };
            let clock = ManualClock::jumping();
            let builder = Pacer::shaped(shape.clone()).arrivals(arrivals).shard(shard);
            let pacer = builder.clock(clock).build();
            starts(|| pacer.acquire().ok(), 300)
        };
        let whole = load(Shard::new(0, 1).unwrap());
        let index = 0..u32::try_from(weights.len()).unwrap();
        let shards = index.map(|index| load(Shard::weighted(index, &weights).unwrap()));
        let mut parts: Vec<Duration> = shards.flatten().collect();
        parts.sort_unstable();
        for (whole, part) in whole.iter().zip(&parts).take(250) {
            prop_assert!(whole.abs_diff(*part).as_nanos() <= 2, "{:?}", (whole, part));
        }
    }
}

#[test]
fn a_change_of_shape_is_one_step_without_a_burst() {
    let clock = ManualClock::new();
    let pacer = pacer(&shape("hold 100/s 10s"), &clock);
    clock.advance(span(1_005_000_000));
    pacer.set_shape(shape("ramp 1k/s..3k/s 1s"));
    let mut starts = starts(|| pacer.try_acquire().ok(), 1_000);
    assert_eq!(starts.len(), 101, "what was due at the old rate, and nothing more");
    assert_eq!(starts.pop(), Some(Duration::from_secs(1)));
    // Half an interval had passed. The other half follows the new shape.
    assert_eq!(pacer.rate(), Rate::per_second(1_000).unwrap());
    let Err(Refused::NotUntil(next)) = pacer.try_acquire() else { panic!("due") };
    let wait = next - pacer.now();
    assert!((499_000..=500_000).contains(&wait.as_nanos()), "{wait:?}");
}

proptest! {
    #[test]
    fn a_change_of_shards_moves_no_slot(
        hz in 1_u64..10_000, moment in 0_u64..50_000_000, ahead in 1_u64..9,
        before in 1_u64..4, after in 1_u64..4, index in 0_u64..3, poisson in any::<bool>()
    ) {
        let arrivals = || if poisson { Arrivals::poisson(1) } else { Arrivals::even() };
        let builder = || Pacer::builder(Rate::per_second(hz).unwrap()).arrivals(arrivals());
        let shard = |count: u64| Shard::new(u32::try_from(index % count).unwrap(), u32::try_from(count).unwrap());
        let (clock, whole) = (ManualClock::jumping(), builder().clock(ManualClock::jumping()).build());
        let pacer = builder().shard(shard(before).unwrap()).clock(clock.clone()).build();
        clock.set(at(moment));
        let from = moment * hz / crate::common::SECOND + ahead;
        let is_set = pacer.set_shard(shard(after).unwrap(), from).is_ok();
        prop_assert!(is_set || poisson || ahead == 1);
        let is_own = |&(slot, _): &(u64, Duration)| {
            let count = if is_set && slot >= from { after } else { before };
            slot % count == index % count
        };
        let slots = usize::try_from(from).unwrap() + 50;
        let load = (0..).zip(starts(|| whole.acquire().ok(), slots)).filter(is_own);
        let own: Vec<(u64, Duration)> = load.collect();
        let starts = starts(|| pacer.acquire().ok(), own.len());
        for ((slot, expected), start) in own.into_iter().zip(starts) {
            prop_assert!(start.abs_diff(expected).as_nanos() <= 3, "slot {slot}: {start:?}, not {expected:?}");
        }
    }
}

#[test]
fn a_constant_shape_is_a_constant_rate() {
    let pacer = Pacer::shaped(Shape::constant(Rate::per_second(7).unwrap())).build();
    assert!(pacer.shape().is_none());
    assert_eq!(pacer.rate(), Rate::per_second(7).unwrap());
}

#[test]
fn a_slot_in_the_last_nanosecond_of_a_shape_is_granted() {
    let shape = shape("hold 1261/s 11102300ns");
    assert_eq!(shape.time_of(14), shape.duration());
    let jumping = pacer(&shape, &ManualClock::jumping());
    assert_eq!(starts(|| jumping.acquire().ok(), 100).len(), 15);

    // The slot is part of the requested load, regardless of late policies.
    let clock = ManualClock::new();
    let strict = pacer(&shape, &clock);
    strict.set_strictness(Strictness::STRICT);
    clock.advance(span(5 * MILLI));
    strict.acquire().unwrap();
    let [last, end] = [0, 1].map(|after| strict.asked_before(at(11_102_300 + after)));
    assert_eq!((last, end, strict.asked_before(Nanos::MAX)), (14, 15, 15));
}

#[derive(Debug)]
struct Break;

impl Curve for Break {
    fn count_at(&self, elapsed: Duration) -> f64 {
        let seconds = elapsed.as_secs_f64();
        10.0 * seconds.min(1.0) + 10.0 * (seconds - 5.0).max(0.0)
    }
}

/// Checks the start of a slot that is due exactly when a break (a time at rate zero) begins. If the shape states the
/// rate of zero, the slot starts at the end of the break. If the break is a flat part of a user's curve, the slot
/// starts at the beginning.
#[test]
fn the_slot_at_the_beginning_of_a_break() {
    let text = "hold 10/s 1s, hold 0/s 4s, hold 10/s 1s".parse().unwrap();
    let curve = Shape::custom(Break, Some(Duration::from_secs(6))).unwrap();
    for (shape, tenth) in [(text, Duration::from_secs(5)), (curve, Duration::from_secs(1))] {
        let pacer = pacer(&shape, &ManualClock::jumping());
        let starts = starts(|| pacer.acquire().ok(), 100);
        assert_eq!((starts.len(), starts[9]), (20, Duration::from_millis(900)), "{shape}");
        assert_eq!(starts[10], tenth, "{shape}");
    }
}

#[test]
fn the_first_end_counts() {
    let offsets = |n: u32| Arrivals::replay(move || (0..n).map(|n| n * Duration::from_secs(1)));
    let shaped = |text| Pacer::shaped(shape(text));
    for (builder, slots) in [
        (shaped("hold 10/s 5s"), 50),
        (shaped("hold 10/s 5s").slots(7), 7),
        (shaped("hold 10/s 5s").until(Duration::from_secs(2)), 20),
        (shaped("hold 1/s 5s").arrivals(offsets(3)), 3),
        (shaped("hold 1/s 5s").arrivals(offsets(9)), 5),
        // `slots` counts only the slots of this process.
        (shaped("hold 10/s 5s").shard(Shard::new(1, 2).unwrap()).slots(7), 7),
    ] {
        let pacer = builder.clock(ManualClock::jumping()).build();
        assert_eq!(starts(|| pacer.acquire().ok(), 100).len(), slots);
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
    }
}

#[test]
fn a_recording_of_millions_ends_where_the_load_does() {
    const SLOTS: u32 = 1_500_000;
    let offsets = || Arrivals::replay(|| (0..2 * SLOTS).map(|n| n * Duration::from_micros(1)));
    let until = || Pacer::builder("1/s".parse().unwrap()).until(SLOTS * Duration::from_micros(1));
    for (builder, row) in [
        (until(), SLOTS),
        (until(), SLOTS / 10),
        (until().skip_later_than(Duration::from_secs(9)), SLOTS / 10),
        (Pacer::shaped(shape("hold 1/s 1.5s")), SLOTS / 10),
    ] {
        let pacer = builder.arrivals(offsets()).clock(ManualClock::jumping()).build();
        for _ in 0..SLOTS / row {
            assert!(pacer.acquire_many(row).is_ok(), "after {:?}", pacer.ledger());
        }
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
        assert_eq!(pacer.ledger().granted, u64::from(SLOTS));
    }
    let pacer = until().arrivals(offsets()).clock(ManualClock::jumping()).build();
    assert_eq!(pacer.claim_many(SLOTS + 1).map(drop), Err(Refused::Finished));
}

#[test]
fn a_replay_on_a_ramp_gets_faster() {
    let offsets = (0..10_u32).map(|n| n * Duration::from_secs(1));
    let builder = Pacer::shaped(shape("ramp 0/s..2/s 10s"))
        .arrivals(Arrivals::replay(move || offsets.clone()));
    let pacer = builder.clock(ManualClock::jumping()).build();
    for (n, start) in (0_u32..).zip(starts(|| pacer.acquire().ok(), 10)) {
        let exact = f64::from(10 * n).sqrt();
        assert!((start.as_secs_f64() - exact).abs() < 2e-9, "{n}: {start:?}");
    }
}

#[test]
fn a_shape_reaches_callers_that_are_asleep() {
    let pacer = Pacer::new(Rate::SLOWEST);
    assert!(pacer.acquire().is_ok());
    thread::scope(|scope| {
        let caller = scope.spawn(|| pacer.acquire());
        crate::common::until("slot 1 is held", || pacer.ledger().granted == 2, || {});
        pacer.set_shape(shape("hold 1k/s 1s"));
        assert!(caller.join().unwrap().is_ok());
    });
}

/// If the shape did not end at its correction, the end of the schedule and of the ledger would lie in the past.
#[test]
fn a_shape_that_is_over_already_ends_now() {
    let (clock, pacer) = crate::common::paced("10/s");
    clock.advance(Duration::from_secs(5));
    pacer.correct_shape(shape("hold 10/s 2s"));
    clock.advance(Duration::from_secs(1));
    assert_eq!(pacer.ledger().elapsed, Duration::from_secs(5));
    // Slot 50 was due at the moment of the change.
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 51);
    assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
}

/// The next change of the rate comes after slot 2, at the same count.
#[test]
fn a_started_slot_stays_where_it_is_when_the_rate_rises_from_zero() {
    let clock = ManualClock::new();
    let builder = Pacer::shaped(shape("hold 10/s 1s, hold 0/s 10s"));
    let pacer = builder.strictness(crate::common::strictness(1.0)).clock(clock.clone()).build();
    let claims = [(); 2].map(|()| pacer.claim().unwrap());
    clock.advance(Duration::from_secs(2));
    assert!(pacer.try_acquire().is_ok());
    clock.advance(Duration::from_secs(1));
    pacer.set_rate("10/s".parse().unwrap());
    let [_first, second] = claims;
    drop(second);
    // Slot 1 was given back. Its interval of 100 ms, which ends at slot 2, is backlog.
    assert_eq!(pacer.ledger().backlog, Duration::from_millis(100));
    crate::common::assert_balanced(&pacer);
}

/// After the first second, the time of its 100 slots is owed.
#[test]
fn a_shard_is_not_set_among_slots_that_are_owed() {
    let clock = ManualClock::new();
    let builder = crate::common::build("100/s", &clock).strictness(crate::common::strictness(1.5));
    let pacer = builder.build();
    clock.advance(Duration::from_secs(1));
    assert!(pacer.try_acquire().is_ok());
    pacer.set_rate("10/s".parse().unwrap());
    assert!(pacer.set_shard(Shard::new(0, 2).unwrap(), 50).is_err());
    assert!(pacer.set_shard(Shard::new(0, 2).unwrap(), 102).is_ok());
}

/// Each shape has more than 2^46 slots, the reach of a line.
#[test]
fn a_hold_of_any_length_is_exact() {
    for text in ["hold 1M/s 1000d", "hold 10G/s 9d", "hold 10G/s 2h", "hold 1M/s 9000d"] {
        let shape = shape(text);
        let pacer = pacer(&shape, &ManualClock::jumping());
        assert_on(&shape, &starts(|| pacer.acquire().ok(), 10_000), 0..);
    }
    let clock = ManualClock::new();
    let pacer = pacer(&shape("hold 10G/s 9d"), &clock);
    clock.advance(Duration::from_secs(3 * 3_600));
    pacer.set_rate(crate::common::rate("1/s"));
    assert!(pacer.try_acquire().is_ok());
    crate::common::assert_balanced(&pacer);
}

/// At rates near zero, different times can have the same count, because counts have a resolution of 2^-64 slots.
#[test]
fn the_ledger_balances_where_the_rate_is_next_to_zero() {
    for seed in 0..50 {
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape("sine 0/s..10/s period 2555d"));
        let builder = builder.arrivals(Arrivals::gamma(0.01, seed).unwrap());
        let builder = builder.strictness(crate::common::strictness(1.0)).tolerance(Duration::ZERO);
        let pacer = builder.clock(clock.clone()).build();
        for step in 1..20 {
            clock.advance(span(step * 37_123_457));
            if pacer.try_acquire().is_ok() {
                crate::common::assert_balanced(&pacer);
            }
        }
    }
}

/// Slot 5 starts late while the rate is zero, so time is owed after that slot. Slots 0 to 4 are given back.
#[test]
fn a_slot_from_before_the_owed_time_does_not_wait_for_the_rate_to_rise() {
    let clock = ManualClock::new();
    let pacer =
        crate::common::build("10/s", &clock).strictness(crate::common::strictness(1.1)).build();
    let claims = [(); 5].map(|()| pacer.claim().unwrap());
    clock.advance(Duration::from_secs(1));
    pacer.set_shape(shape("hold 0/s 10s, hold 10/s 1s"));
    clock.advance(Duration::from_secs(1));
    assert!(pacer.try_acquire().is_ok());
    drop(claims);
    assert_eq!(pacer.try_acquire().map(Grant::intended_start), Ok(at(0)));
}

/// Shortly before its end, the ramp has ten slots per nanosecond. A parabola along the last nanosecond could not go
/// through the middle, which is not a whole nanosecond.
#[test]
fn the_last_nanosecond_of_a_steep_ramp_is_like_any_other() {
    let ramp = shape("ramp 0/s..10G/s 10us, hold 10G/s 1s");
    for before in 49_975..49_990 {
        let pacer = pacer(&ramp, &ManualClock::jumping());
        pacer.acquire_many(before).expect("not too far ahead");
        let next = starts(|| pacer.acquire().ok(), 100);
        assert_on(&ramp, &next, u64::from(before)..);
    }
}

/// A line along the slower part must not begin at a slot in the last nanosecond before the rate falls.
#[test]
fn slots_after_a_fall_of_the_rate_are_as_exact_as_any() {
    for (text, before) in [
        ("ramp 1/s..3M/s 10us, hold 1/s 1h", 0),
        ("hold 777777777/s 10us, hold 1M/s 1s", 7_000),
        ("hold 777777777/s 10us, ramp 1k/s..1/s 30d", 7_000),
        ("sine 1G/s..1k/s period 10us, hold 1k/s 30d", 4_500),
        ("hold 1143307486/s 7ns, hold 1/d 9d", 0),
        // The slower part begins within a repetition.
        ("hold 900M/s 1003ns, hold 100/s 1s x3 skip 1100ms", 900),
        ("hold 3477653134/s 183ns, ramp 1k/s..2k/s 1s x3 skip 1300ms", 600),
        ("hold 3M/s 334ns, (hold 1/s 1min x3 take 150s) reverse", 0),
    ] {
        let shape = shape(text);
        let pacer = pacer(&shape, &ManualClock::jumping());
        pacer.acquire_many(before).expect("not too far ahead");
        let starts = starts(|| pacer.acquire().ok(), SLOTS);
        assert_on(&shape, &starts, u64::from(before)..);
    }
}
