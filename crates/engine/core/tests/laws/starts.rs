//! Checks that the grants of a pacer match the starts that its load lists in advance.

use nanopace::{Arrivals, Level, ManualClock, Nanos, Pacer, Rate, Shape, Shard};
use proptest::prelude::*;
use std::iter;
use std::time::Duration;

const MOST: usize = 500;

fn level() -> impl Strategy<Value = Level> {
    let rate = (1_u64..100_000).prop_map(|hz| Rate::per_second(hz).unwrap().into());
    prop_oneof![1 => Just(Level::ZERO), 4 => rate]
}

fn part() -> impl Strategy<Value = Shape> {
    (level(), level(), 2_u64..200_000_000, 0..5).prop_map(|(from, to, ns, kind)| {
        let time = Duration::from_nanos(ns);
        match kind {
            0 => Shape::hold(from, time),
            1 => Shape::ramp(from, to, time),
            2 => Shape::sine(from, to, time),
            3 => Shape::bell(from, to, time),
            _ => Shape::spike(from, to, time),
        }
        .unwrap()
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let rate = (1_u64..100_000).prop_map(|hz| Shape::constant(Rate::per_second(hz).unwrap()));
    let parts = proptest::collection::vec(part(), 1..5);
    let row = parts
        .prop_map(|parts| parts.into_iter().reduce(|all, part| all.then(part).unwrap()).unwrap());
    prop_oneof![1 => rate, 6 => row]
}

fn make((name, seed): (&str, u64)) -> Arrivals {
    name.parse::<Arrivals>().unwrap().with_seed(seed)
}

proptest! {
    #[test]
    fn a_pacer_grants_the_listed_starts(
        shape in shape(),
        name in proptest::sample::select(vec!["even", "poisson", "exact-poisson:50", "gamma:0.2", "jitter:1"]),
        seed: u64,
        index in 0_u32..3,
        weights in prop_oneof![Just([1, 1, 1]), Just([3, 1, 2])],
    ) {
        let shard = Shard::weighted(index, &weights).unwrap();
        let listed = make((name, seed)).starts(shape.clone(), shard.clone());
        let builder = Pacer::shaped(shape).arrivals(make((name, seed))).shard(shard);
        let pacer = builder.clock(ManualClock::jumping()).build();
        let granted = iter::from_fn(|| Some(pacer.acquire().ok()?.intended_start() - Nanos::ZERO));
        let (listed, granted): (Vec<_>, Vec<_>) =
            (listed.take(MOST).collect(), granted.take(MOST).collect());
        // The chords and parabolas of the schedule are within a nanosecond of the curve.
        for (&granted, &listed) in granted.iter().zip(&listed) {
            prop_assert!(granted.abs_diff(listed).as_nanos() <= 1, "{:?} {:?}", granted, listed);
        }
        prop_assert_eq!(granted.len(), listed.len());
    }

    /// The lanes are so late that they claim many slots at once. At a random turn, a change makes them give slots back.
    #[test]
    fn two_lanes_grant_the_listed_starts(
        shape in shape(),
        name in proptest::sample::select(vec!["even", "poisson", "exact-poisson:50", "gamma:0.2", "jitter:1"]),
        seed: u64,
        index in 0_u32..3,
        weights in prop_oneof![Just([1, 1, 1]), Just([3, 1, 2])],
        change in 0..2 * MOST,
    ) {
        let shard = Shard::weighted(index, &weights).unwrap();
        let listed = make((name, seed)).starts(shape.clone(), shard.clone());
        let numbers = (0..).map(|local| u64::from(index) + 3 * local);
        let listed: Vec<_> = listed.take(MOST).zip(numbers).collect();
        let clock = ManualClock::new();
        let builder = Pacer::shaped(shape).arrivals(make((name, seed))).shard(shard);
        let pacer = builder.slots(MOST as u64).clock(clock.clone()).build();
        clock.set(Nanos::ZERO + listed.last().map_or(Duration::ZERO, |&(start, _)| start));
        let mut lanes = [pacer.lane(), pacer.lane()];
        let mut granted = Vec::new();
        for turn in 0..2 * MOST {
            if turn == change {
                pacer.pause();
                pacer.resume();
            }
            granted.extend(lanes[turn % 2].try_acquire());
        }
        granted.sort_unstable_by_key(|grant| grant.slot());
        prop_assert_eq!(granted.len(), listed.len());
        for (grant, (listed, number)) in granted.into_iter().zip(listed) {
            let start = grant.intended_start() - Nanos::ZERO;
            prop_assert!(start.abs_diff(listed).as_nanos() <= 1, "{:?} {:?}", start, listed);
            prop_assert!(weights != [1, 1, 1] || grant.slot() == number);
        }
    }
}
