//! Tests limits that take turns on one state, as when processes with different limits share it.

use crate::laws::{Arrival, at};
use crate::limits::{any_limits, kinds};
use nanopace_limits::{Limit, Limits, Rule};
use proptest::prelude::*;

/// A request: the time since the request before it, its size, and the index of the limits that decide.
type Request = (u64, u64, usize);

fn small_limit() -> impl Strategy<Value = Limit> {
    (1..4_u64, 1..4_u64, 1..4_u64, 0..7_usize)
        .prop_map(|(count, period, burst, kind)| kinds(count, 100 * period, burst, burst)[kind])
}

/// Generates at most nine limits in all, because a state keeps eight limits in addition to those in force.
fn nine_limits_at_most() -> impl Strategy<Value = Vec<Limits>> {
    let small = prop::collection::vec(small_limit(), 1..4).prop_map(Limits::new);
    prop_oneof![prop::collection::vec(any_limits(), 3), prop::collection::vec(small, 3)]
}

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let pause = prop_oneof![3 => Just(0), 3 => 0..10_000_u64, 3 => 0..200_000_u64];
    let n = prop_oneof![4 => Just(1_u64), 1 => 0..8_u64, 1 => 0..30_u64];
    prop::collection::vec((pause, n, 0..3_usize), 1..120)
}

fn let_in_by_turns(all: &[Limits], requests: &[Request]) -> Vec<(usize, Arrival)> {
    let (mut state, mut last, mut now) = (all[0].fresh(), 0, 1_000);
    let mut let_in = Vec::new();
    for &(pause, n, turn) in requests {
        now += pause;
        let limits = &all[turn];
        if *limits != all[last] {
            state = limits.carry_over(&all[last], &state, at(now));
        }
        last = turn;
        if limits.try_acquire(&mut state, at(now), n).is_ok() {
            let_in.push((turn, Arrival { now: at(now), n }));
        }
    }
    let_in
}

fn lets_all_in(limits: &Limits, mut let_in: impl Iterator<Item = Arrival>) -> bool {
    let mut state = limits.fresh();
    let_in.all(|arrival| limits.try_acquire(&mut state, arrival.now, arrival.n).is_ok())
}

/// Returns the limits with a log instead of slots. Slots keep the same bound, but may reject more.
fn exact(limits: &Limits) -> Limits {
    let has_slots = |limit: &Limit| limit.to_string().contains(" in ");
    let exact =
        |limit: &Limit| if has_slots(limit) { Limit::sliding_log(limit.quota()) } else { *limit };
    Limits::new(limits.each().iter().map(exact))
}

fn rising() -> impl Strategy<Value = Vec<Limits>> {
    let counts = prop::collection::vec(1..20_u64, 3);
    (counts, 1..100_u64, 0..5_usize).prop_map(|(mut counts, period, kind)| {
        counts.sort_unstable();
        let limit = |count: &u64| match kind {
            0 => format!("{count}/{period}us"),
            1 => format!("{count}/{period}us fixed-window"),
            2 => format!("{count}/{period}us sliding-counter"),
            3 => format!("{count}/{period}us sliding-log"),
            _ => format!("{count}/{period}us sliding-log-all"),
        };
        counts.iter().map(|count| limit(count).parse().expect("limits")).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn limits_of_any_kinds_admit_no_more_than_their_sum(
        all in nine_limits_at_most(), requests in any_requests(),
    ) {
        let let_in = let_in_by_turns(&all, &requests);
        for (number, limits) in all.iter().enumerate() {
            let own = let_in.iter().filter(|(turn, _)| *turn == number).map(|(_, arrival)| *arrival);
            prop_assert!(lets_all_in(&exact(limits), own), "{}: {:?} of {:?}", limits, let_in, all);
        }
    }

    #[test]
    fn limits_of_one_kind_admit_no_more_than_the_highest(
        all in rising(), requests in any_requests(),
    ) {
        let let_in = let_in_by_turns(&all, &requests);
        let everything = let_in.iter().map(|(_, arrival)| *arrival);
        prop_assert!(lets_all_in(&all[2], everything), "{:?}: {:?}", all, let_in);
    }
}

#[test]
fn eight_limits_that_are_not_in_force_go_on_counting() {
    let log: Limits = "5/min sliding-log".parse().unwrap();
    let mut state = log.fresh();
    log.try_acquire(&mut state, at(0), 5).unwrap();
    let mut last = log.clone();
    for interval in 0..8 {
        let rate: Limits = format!("1/{}s burst 1", 50 + interval).parse().unwrap();
        state = rate.carry_over(&last, &state, at(0));
        last = rate;
    }
    let mut state = log.carry_over(&last, &state, at(0));
    assert!(log.try_acquire(&mut state, at(0), 1).is_err());
}

/// Each of the limits decides on one request every millisecond, from 9.8 s on.
fn let_in_within_four_seconds(texts: &[&str]) -> usize {
    let all: Vec<Limits> = texts.iter().map(|text| text.parse().expect("limits")).collect();
    let asked = |milli: u64| {
        let pause = if milli == 0 { 9_800_000_000 } else { 1_000_000 };
        (0..texts.len()).map(move |turn| (if turn == 0 { pause } else { 0 }, 1, turn))
    };
    let requests: Vec<Request> = (0..4_000).flat_map(asked).collect();
    let_in_by_turns(&all, &requests).len()
}

/// Checks the figures in the README of `nanopace-remote`.
#[test]
fn a_rate_and_a_fixed_window_come_close_to_the_sum() {
    assert_eq!(let_in_within_four_seconds(&["100/s burst 10"]), 409);
    assert_eq!(let_in_within_four_seconds(&["100/s fixed-window"]), 500);
    assert_eq!(let_in_within_four_seconds(&["100/s fixed-window", "100/s burst 10"]), 850);
}
