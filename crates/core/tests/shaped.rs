//! Pacers whose rate follows a shape, whose slots lie unevenly, or that take a share of a load.

mod common;

use common::{at, span};
use nanopace::{
    Arrivals, Ended, Grant, Level, ManualClock, Nanos, Pacer, Rate, Refused, Shape, Shard,
};
use proptest::prelude::*;
use std::iter;
use std::time::Duration;

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// Parts between 1 ms and 1 s, at rates up to 10 M/s.
fn shapes() -> impl Strategy<Value = Shape> {
    let level = prop_oneof![
        1 => Just(Level::ZERO),
        4 => (0_u32..7, 1_u64..=10).prop_map(|(power, n)| Rate::per_second(n * 10_u64.pow(power)).unwrap().into()),
    ];
    let time = (1_u64..1_000).prop_map(Duration::from_millis);
    let part = (0..5, level.clone(), level, time).prop_map(|(kind, from, to, time)| match kind {
        0 => Shape::hold(from, time).unwrap(),
        1 => Shape::ramp(from, to, time).unwrap(),
        2 => Shape::sine(from, to, time).unwrap(),
        3 => Shape::spike(from, to, time).unwrap(),
        _ => Shape::ladder(from, to, 4, time / 4).unwrap(),
    });
    let row = prop::collection::vec(part, 1..4)
        .prop_map(|parts| parts.into_iter().reduce(|row, part| row.then(part).unwrap()).unwrap());
    (row, 1_u64..4, any::<bool>()).prop_map(|(row, times, mirrored)| {
        let row = if mirrored { row.mirrored().unwrap() } else { row };
        row.repeat(times).unwrap()
    })
}

fn pacer(shape: &Shape, clock: &ManualClock) -> Pacer {
    Pacer::shaped(shape.clone()).clock(clock.clone()).build()
}

/// The intended starts of `slots` slots, from the start of the pacer.
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
    /// Whether callers come early or late, through lanes or not, each slot starts when the shape
    /// says, to within the nanosecond of a chord.
    #[test]
    fn intended_starts_are_the_shapes(shape in shapes(), late in 0_u64..3_000_000_000, by_lane in any::<bool>()) {
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

    /// Nothing starts early: what is refused until a moment is granted then.
    #[test]
    fn the_moment_that_a_refusal_names_is_the_start(shape in shapes()) {
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

    /// The ledger adds up under every shape, and an ended one has neither idle time nor backlog.
    #[test]
    fn the_ledger_balances(shape in shapes(), strictness in prop::sample::select(vec![0.0, 0.5, 1.0, 1.5]), steps in prop::collection::vec((0_u64..100_000_000, 0..200), 1..30)) {
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape).strictness(common::strictness(strictness));
        let pacer = builder.clock(clock.clone()).build();
        for (step, mut acquires) in steps {
            clock.advance(span(step));
            while acquires > 0 && pacer.try_acquire().is_ok() {
                acquires -= 1;
            }
            let ledger = pacer.ledger();
            prop_assert_eq!(ledger.elapsed, ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog);
        }
    }

    /// The slots of all processes together are the load's.
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
fn a_ramp_from_zero_has_its_slots_where_they_belong() {
    let shape = shape("ramp 0/s..100/s 10s");
    let clock = ManualClock::jumping();
    let pacer = pacer(&shape, &clock);
    let starts = starts(|| pacer.acquire().ok(), 1_000);
    assert_eq!(starts.len(), 500);
    for (n, start) in (0_u32..).zip(starts) {
        let exact = (2.0 * f64::from(n) / 10.0).sqrt();
        assert!((start.as_secs_f64() - exact).abs() < 2e-9, "slot {n}: {start:?}");
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
    // Half an interval had passed. The other half is the new shape's.
    assert_eq!(pacer.rate(), Rate::per_second(1_000).unwrap());
    let Err(Refused::NotUntil(next)) = pacer.try_acquire() else { panic!("due") };
    let wait = next - pacer.now();
    assert!((499_000..=500_000).contains(&wait.as_nanos()), "{wait:?}");
}

#[test]
fn a_pause_moves_the_rest_of_a_shape() {
    let shape = shape("ramp 0/s..100/s 10s");
    let clock = ManualClock::new();
    let pacer = pacer(&shape, &clock);
    clock.advance(Duration::from_secs(5));
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 126);
    pacer.pause();
    clock.advance(Duration::from_secs(100));
    pacer.resume();
    clock.advance(Duration::from_secs(6));
    let rest: Vec<Grant> = iter::from_fn(|| pacer.try_acquire().ok()).collect();
    assert_eq!(rest.len(), 374);
    let moved = at(100 * common::SECOND);
    let starts: Vec<Duration> = rest.iter().map(|grant| grant.intended_start() - moved).collect();
    assert_on(&shape, &starts, 126..);
}

#[test]
fn where_the_rate_is_zero_nobody_starts() {
    let clock = ManualClock::new();
    let pacer = pacer(&shape("hold 10/s 1s, hold 0/s 1h, hold 10/s 1s"), &clock);
    clock.advance(Duration::from_secs(1_800));
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 10);
    let again = Nanos::ZERO + Duration::from_secs(3_601);
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(again)));
    clock.set(again);
    assert!(pacer.try_acquire().is_ok());
}

#[test]
fn a_replay_plays_what_was_recorded_at_its_speed() {
    let offsets = [0, 10, 10, 250, 1_000].map(Duration::from_millis);
    for (rate, speed) in [("1/s", 1), ("2/s", 2)] {
        let clock = ManualClock::jumping();
        let builder = Pacer::builder(rate.parse().unwrap()).arrivals(Arrivals::replay(offsets));
        let pacer = builder.clock(clock).build();
        assert_eq!(starts(|| pacer.acquire().ok(), 10), offsets.map(|offset| offset / speed));
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
    }
}

#[test]
fn a_constant_shape_is_a_constant_rate() {
    let pacer = Pacer::shaped(Shape::constant(Rate::per_second(7).unwrap())).build();
    assert!(pacer.shape().is_none());
    assert_eq!(pacer.rate(), Rate::per_second(7).unwrap());
}

/// Its end would lie in the past, and with it the end of the ledger.
#[test]
fn a_shape_that_is_over_already_ends_now() {
    let clock = ManualClock::new();
    let pacer = common::build("10/s", &clock).build();
    clock.advance(Duration::from_secs(5));
    pacer.go_on_with_shape(shape("hold 10/s 2s"));
    clock.advance(Duration::from_secs(1));
    assert_eq!(pacer.ledger().elapsed, Duration::from_secs(5));
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 50);
    assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
}

/// Slot 2 starts while the rate is zero and forfeits what it is late. The next change of the rate
/// comes at the same count, and is behind it all the same.
#[test]
fn a_started_slot_stays_where_it_is_when_the_rate_rises_from_zero() {
    let clock = ManualClock::new();
    let builder = Pacer::shaped(shape("hold 10/s 1s, hold 0/s 10s"));
    let pacer = builder.strictness(common::strictness(1.0)).clock(clock.clone()).build();
    let claims = [(); 2].map(|()| pacer.claim().unwrap());
    clock.advance(Duration::from_secs(2));
    assert!(pacer.try_acquire().is_ok());
    clock.advance(Duration::from_secs(1));
    pacer.set_rate("10/s".parse().unwrap());
    let [_first, second] = claims;
    drop(second);
    // The time of slot 1, which is from 100 ms until slot 2.
    assert_eq!(pacer.ledger().backlog, Duration::from_millis(100));
    common::assert_balanced(&pacer);
}

/// Owed time is paid back at a multiple of the shape's rate, and behind its end that is zero.
#[test]
fn what_is_owed_when_a_shape_ends_becomes_backlog() {
    let clock = ManualClock::jumping();
    let builder = Pacer::shaped(shape("hold 10/s 10s")).strictness(common::strictness(1.1));
    let pacer = builder.clock(clock.clone()).build();
    clock.advance(Duration::from_secs(8));
    let grants: Vec<Grant> = iter::from_fn(|| pacer.acquire().ok()).collect();
    assert_eq!(grants.len(), 100);
    // 2 s at 11/s.
    let paid = grants.iter().filter(|grant| grant.actual_start() < at(10 * common::SECOND));
    assert_eq!(paid.count(), 22);
    assert_eq!(pacer.now(), at(10 * common::SECOND));
    common::assert_balanced(&pacer);
}

/// The slots of the first second are due and owed, and so is the change behind them.
#[test]
fn a_shard_is_not_set_among_slots_that_are_owed() {
    let clock = ManualClock::new();
    let builder = common::build("100/s", &clock).strictness(common::strictness(1.5));
    let pacer = builder.build();
    clock.advance(Duration::from_secs(1));
    assert!(pacer.try_acquire().is_ok());
    pacer.set_rate("10/s".parse().unwrap());
    assert!(pacer.set_shard(Shard::new(0, 2).unwrap(), 50).is_err());
    assert!(pacer.set_shard(Shard::new(0, 2).unwrap(), 102).is_ok());
}

/// Slot 5 starts late while the rate is zero, so time is owed from there on; slot 0 comes back.
#[test]
fn a_slot_from_before_what_is_owed_does_not_wait_for_the_rate_to_rise() {
    let clock = ManualClock::new();
    let pacer = common::build("10/s", &clock).strictness(common::strictness(1.1)).build();
    let claims = [(); 5].map(|()| pacer.claim().unwrap());
    clock.advance(Duration::from_secs(1));
    pacer.set_shape(shape("hold 0/s 10s, hold 10/s 1s"));
    clock.advance(Duration::from_secs(1));
    assert!(pacer.try_acquire().is_ok());
    drop(claims);
    assert_eq!(pacer.try_acquire().map(Grant::intended_start), Ok(at(0)));
}
