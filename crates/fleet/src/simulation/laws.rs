//! Tests: what has to hold for every seed.

use super::{Fault, Outcome, Setup, simulate};
use std::time::Duration;

const SEEDS: u32 = 12;

fn ms(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

fn each(setup: impl Fn(u32) -> Setup, law: impl Fn(&Outcome)) {
    for seed in 1..=SEEDS {
        let outcome = simulate(&Setup { seed: seed.into(), ..setup(seed) });
        println!("seed {seed}: {outcome:?}");
        assert!(outcome.closes, "seed {seed}: {outcome:?}");
        law(&outcome);
    }
}

#[test]
fn without_faults_each_slot_starts_once() {
    let setup = |seed| Setup { nodes: 1 + seed % 9, ..Setup::default() };
    each(setup, |outcome| {
        assert_eq!([outcome.expected, outcome.fired], [30_000, 30_000]);
        assert_eq!(outcome.account, (30_000, 0, 0));
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
    });
}

#[test]
fn a_load_that_jitters_on_a_far_store_starts_once() {
    let setup = |seed| Setup {
        nodes: 3 + seed % 4,
        arrivals: "poisson".to_owned(),
        round_trip: ms(1 + 4 * seed),
        jitter: 0.3,
        drift_ppm: 200.0,
        ..Setup::default()
    };
    each(setup, |outcome| {
        assert_eq!(outcome.account, (outcome.expected, 0, 0));
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
    });
}

#[test]
fn messages_that_are_lost_lose_next_to_nothing() {
    let setup = |_| Setup { loss: 0.01, ..Setup::default() };
    each(setup, |outcome| {
        assert!(outcome.blind_frames > 0 || outcome.twice == 0);
        assert_eq!(outcome.account, (outcome.fired, outcome.lost.cast_signed(), outcome.twice));
        // A frame of a node has fifty slots.
        assert!(outcome.lost <= 300, "lost {}", outcome.lost);
    });
}

#[test]
fn a_node_that_dies_loses_what_it_had_claimed() {
    let kill = ms(1_000);
    let setup = |seed| Setup {
        nodes: 2 + seed % 6,
        faults: vec![(kill + ms(seed), Fault::Kill(0))],
        ..Setup::default()
    };
    each(setup, |outcome| {
        // Four frames of 200 slots, by the number of nodes, and a track more.
        let share = 800 / (outcome.alive as u64 + 1) + 4 * 13;
        assert!((1..=share).contains(&outcome.lost), "lost {} of {share}", outcome.lost);
        assert_eq!(outcome.twice, 0);
        let over = outcome.last_lost.unwrap().saturating_sub(kill);
        assert!(over <= 5 * outcome.frame, "{over:?}");
    });
}

#[test]
fn a_node_that_stands_still_loses_nothing_or_what_it_had() {
    for still in [10, 30, 50, 150, 700] {
        let setup = |seed| Setup {
            faults: vec![(ms(500 + seed), Fault::Freeze(0, ms(still)))],
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert_eq!(outcome.twice, 0);
            assert_eq!(outcome.lost, 0);
        });
    }
}

#[test]
fn a_store_that_stands_still_for_a_short_time_is_not_noticed() {
    let setup = |seed| Setup {
        faults: vec![(ms(500 + seed), Fault::FreezeStore(ms(12 + seed)))],
        ..Setup::default()
    };
    each(setup, |outcome| assert_eq!([outcome.lost, outcome.twice], [0, 0]));
}

#[test]
fn a_store_that_stands_still_for_long_makes_nodes_blind() {
    let setup = |seed| Setup {
        faults: vec![(ms(500 + seed), Fault::FreezeStore(ms(100 * seed)))],
        ..Setup::default()
    };
    each(setup, |outcome| {
        assert!(outcome.blind_frames > 0);
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
        assert_eq!(outcome.account, (outcome.expected, 0, 0));
    });
}

#[test]
fn a_store_that_comes_back_empty_is_filled_again() {
    let setup = |seed| Setup {
        faults: vec![
            (ms(500 + seed), Fault::Lose),
            (ms(1_500 + seed), Fault::FreezeStore(ms(200))),
            (ms(1_501 + seed), Fault::Lose),
        ],
        ..Setup::default()
    };
    each(setup, |outcome| {
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
        assert_eq!(outcome.account, (outcome.expected, 0, 0));
    });
}

#[test]
fn a_node_that_is_cut_off_makes_some_start_twice_and_they_are_counted() {
    let setup = |seed| Setup {
        faults: vec![(ms(500 + seed), Fault::CutOff(1, ms(50 * seed)))],
        ..Setup::default()
    };
    each(setup, |outcome| {
        assert_eq!(outcome.lost, 0);
        // While it is cut off, a quarter of the load at most.
        assert!(outcome.twice <= 10 * 12 * 50 / 4 + 400);
        assert_eq!(outcome.account, (outcome.fired, 0, outcome.twice));
    });
}

#[test]
fn when_the_clock_of_the_store_is_set_the_load_stays_on_course() {
    for by_us in [-3_600_000_000, -5_000_000, -50_000, 50_000, 5_000_000, 3_600_000_000] {
        let setup = |seed| Setup {
            shape: "hold 10k/s 6s".to_owned(),
            faults: vec![(ms(500 + seed), Fault::SetClock(by_us))],
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert_eq!(outcome.lost, 0, "clock set by {by_us} us");
            // Nodes are blind meanwhile, and don't find back at the same moment: two frames at most.
            assert!(outcome.twice <= 400, "{} twice, clock set by {by_us} us", outcome.twice);
        });
    }
}

#[test]
fn nodes_that_join_take_their_share_and_nothing_else_changes() {
    let setup = |seed| Setup {
        faults: (0..=seed % 5).map(|node| (ms(500 + 90 * node), Fault::Join)).collect(),
        ..Setup::default()
    };
    each(setup, |outcome| {
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
        assert_eq!(outcome.account, (30_000, 0, 0));
    });
}

#[test]
fn a_change_of_the_load_loses_nothing() {
    let setup = |seed| Setup {
        faults: vec![
            (ms(500 + seed), Fault::Change("hold 4k/s 1s".to_owned())),
            (ms(900), Fault::FreezeStore(ms(20 * seed))),
            (ms(1_200), Fault::Change("ramp 1k/s..20k/s 1s".to_owned())),
        ],
        ..Setup::default()
    };
    each(setup, |outcome| assert_eq!([outcome.lost, outcome.twice], [0, 0]));
}

#[test]
fn the_same_setup_has_the_same_outcome() {
    let setup = Setup {
        loss: 0.02,
        faults: vec![(ms(300), Fault::Kill(1)), (ms(600), Fault::Join)],
        ..Setup::default()
    };
    let outcome = || format!("{:?}", simulate(&setup));
    assert_eq!(outcome(), outcome());
}

#[test]
fn requests_that_arrive_late_and_twice_change_nothing() {
    let setup = |_| Setup { again: 0.3, ..Setup::default() };
    each(setup, |outcome| {
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
        assert_eq!(outcome.account, (30_000, 0, 0));
    });
}
