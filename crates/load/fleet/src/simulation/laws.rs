//! Tests properties that must hold for every seed.

use super::{Fault, Outcome, Setup, simulate};
use std::env;
use std::time::Duration;

mod clocks;
mod pauses;

const SEEDS: u32 = 12;

fn ms(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

fn each(setup: impl Fn(u32) -> Setup, law: impl Fn(&Outcome)) {
    each_of(1..=SEEDS, setup, law);
}

/// Returns three of the seeds. Consecutive cases of a property get different seeds. If `NANOPACE_ALL_SEEDS` is set, as
/// in `just nightly`, returns all seeds.
fn seeds_of(case: u32) -> Vec<u32> {
    let count = if env::var_os("NANOPACE_ALL_SEEDS").is_some() { SEEDS } else { 3 };
    (0..count).map(|number| (count * case + number) % SEEDS + 1).collect()
}

fn each_of(
    seeds: impl IntoIterator<Item = u32>,
    setup: impl Fn(u32) -> Setup,
    law: impl Fn(&Outcome),
) {
    for seed in seeds {
        let outcome = simulate(&Setup { seed: seed.into(), ..setup(seed) });
        println!("seed {seed}: {outcome:?}");
        is_within_bounds(&outcome);
        assert_eq!(outcome.gave_up, 0, "seed {seed}");
        let is_told = outcome.killed == 0;
        assert_eq!((outcome.is_told, outcome.closes), (is_told, is_told), "seed {seed}");
        law(&outcome);
    }
}

fn is_within_bounds(outcome: &Outcome) {
    let ((started, lost, twice), (most, least, more)) = (outcome.account, outcome.account_at_most);
    assert!((started..=most).contains(&outcome.started), "{outcome:?}");
    let never = outcome.lost.cast_signed();
    // If a slot was started by a node that did not own it, and not by its owner, it counts once as lost and once as
    // started twice.
    assert!((least - more.cast_signed()..=lost).contains(&never), "{outcome:?}");
    assert!(outcome.twice <= more && twice <= more, "{outcome:?}");
}

fn each_with(faults: impl Fn(u32) -> Vec<(Duration, Fault)>, law: impl Fn(&Outcome)) {
    each(|seed| Setup { faults: faults(seed), ..Setup::default() }, law);
}

fn is_exact(outcome: &Outcome) {
    assert_eq!([outcome.lost, outcome.twice], [0, 0]);
    assert_eq!((outcome.started, outcome.account), (outcome.expected, (outcome.expected, 0, 0)));
}

fn is_true(outcome: &Outcome) {
    let (started, lost, twice) = outcome.account;
    let both = twice - outcome.twice;
    assert_eq!((started, lost), (outcome.started, (outcome.lost + both).cast_signed()));
}

#[test]
fn without_faults_each_slot_starts_once() {
    let setup = |seed| Setup { nodes: 1 + seed % 9, ..Setup::default() };
    each(setup, |outcome| {
        is_exact(outcome);
        assert_eq!(outcome.expected, 30_000);
    });
}

#[test]
fn a_day_takes_no_more_memory_than_an_hour() {
    let after = |hours: u64| {
        let outcome = simulate(&Setup {
            nodes: 3,
            shape: format!("hold 1/s {hours}h"),
            frame: Duration::from_secs(10),
            // When messages are lost, other nodes claim the tracks, so the owners of tracks change between frames.
            loss: 0.01,
            ..Setup::default()
        });
        println!("{outcome:?}");
        assert!(outcome.closes && outcome.expected == hours * 3_600, "{outcome:?}");
        // Frames of the last minute, and up to two more chunks, may not have been counted yet.
        assert!(outcome.counted + 6 + 128 >= 360 * hours, "{outcome:?}");
        outcome
    };
    let (hour, day) = (after(1), after(24));
    assert!(day.rows <= 128 && day.store_bytes <= 2 * hour.store_bytes);
}

#[test]
fn the_counts_are_those_of_the_slots_that_were_started() {
    let fault = |seed: u32| match seed % 6 {
        0 => vec![Fault::Lose],
        1 => vec![Fault::Kill(0), Fault::Join],
        2 => vec![Fault::FreezeStore(ms(90_000))],
        3 => vec![Fault::CutOff(1, ms(100_000))],
        4 => (0..3).map(|node| Fault::Freeze(node, ms(100_000))).collect(),
        _ => vec![Fault::Change("hold 30/s 5min".to_owned()), Fault::Kill(1), Fault::Lose],
    };
    for second in [50, 190] {
        let setup = |seed: u32| Setup {
            nodes: 3,
            shape: "hold 50/s 6min".to_owned(),
            frame: ms(1_000),
            blind: ms(20_000),
            faults: fault(seed)
                .into_iter()
                .zip(1..)
                .map(|(fault, order)| (ms(1_000 * (second + order) + seed), fault))
                .collect(),
            ..Setup::default()
        };
        each(setup, |outcome| assert!(outcome.counted > 64, "{outcome:?}"));
    }
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
    each(setup, is_exact);
}

#[test]
fn messages_that_are_lost_lose_next_to_nothing() {
    let setup = |_| Setup { loss: 0.01, ..Setup::default() };
    each(setup, |outcome| {
        assert!(outcome.blind_frames > 0 || outcome.twice == 0);
        is_true(outcome);
        // A node has 250 slots in a frame, so the limit is six frames.
        assert!(outcome.lost <= 1_500, "lost {}", outcome.lost);
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
        // At most the node's part of four and a half frames of 1000 slots is lost, plus one track of up to 63 slots per
        // frame.
        let share = 4_500 / (outcome.alive as u64 + 1) + 5 * 63;
        assert!((1..=share).contains(&outcome.lost), "lost {} of {share}", outcome.lost);
        assert_eq!(outcome.twice, 0);
        let over = outcome.last_lost.unwrap().saturating_sub(kill);
        assert!(over <= 5 * outcome.frame, "{over:?}");
    });
}

/// The store does not know which slots the node started after its last report.
#[test]
fn the_slots_of_a_killed_node_lie_between_bounds() {
    let limit = ms(500);
    for at in [300, 1_500, 2_900, 2_999] {
        let setup = |seed| Setup {
            blind: limit,
            faults: vec![(ms(at + seed), Fault::Kill(0))],
            ..Setup::default()
        };
        each(setup, |outcome| {
            let ((started, lost, twice), (most, least, more)) =
                (outcome.account, outcome.account_at_most);
            // The first limit is a quarter of the load in six frames. A quarter of a frame has four tracks with at most
            // 63 slots each.
            assert!(lost - least <= 6 * 252, "{outcome:?}");
            assert!(most - started <= 13 * 252 && more - twice <= 7 * 252, "{outcome:?}");
        });
    }
}

/// While the node was cut off, the other nodes started its part of the load. The node cannot report which of these
/// slots it has also started.
#[test]
fn a_node_that_is_cut_off_and_then_killed_may_have_doubled_its_part() {
    for (limit, blind) in [(10_000, 700), (300, 700), (0, 700), (10_000, 2_200)] {
        let setup = |seed| Setup {
            nodes: 2 + seed % 4,
            blind: ms(limit),
            faults: vec![
                (ms(500 + seed), Fault::CutOff(0, ms(60_000))),
                (ms(500 + seed + blind), Fault::Kill(0)),
            ],
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert!(limit == 0 || outcome.twice > 0, "it was started twice");
            assert_eq!(outcome.account.2, 0, "and the account does not contain it");
        });
    }
}

#[test]
fn a_node_that_is_killed_after_it_was_frozen_or_just_before_its_report_lies_between_bounds() {
    for still in [200, 2_000] {
        let faults = |seed| {
            vec![
                (ms(400), Fault::CutOff(0, ms(300))),
                (ms(700 + 3 * seed), Fault::Kill(0)),
                (ms(500), Fault::Freeze(1, ms(still))),
                (ms(500 + still + 7 * seed), Fault::Kill(1)),
            ]
        };
        each_with(faults, |_| {});
    }
}

#[test]
fn a_node_that_is_killed_before_it_has_marked_what_it_started_lies_between_bounds() {
    for back in 6..14 {
        let setup = |seed| Setup {
            nodes: 2 + seed % 3,
            shape: "hold 1k/s 2s".to_owned(),
            faults: vec![
                (ms(400), Fault::CutOff(0, ms(400))),
                (ms(800 + 8 * back + seed % 8), Fault::Kill(0)),
            ],
            ..Setup::default()
        };
        each(setup, |_| {});
    }
}

/// The emptied store learns only that the killed node has joined, but not what the node has started.
#[test]
fn a_store_that_was_emptied_does_not_answer_for_the_dead() {
    let faults = |seed| vec![(ms(500 + seed), Fault::Kill(0)), (ms(1_500), Fault::Lose)];
    each_with(faults, |outcome| assert!(outcome.account_at_most.0 > outcome.account.0));
}

#[test]
fn a_node_that_stalls_loses_nothing_or_what_it_had() {
    for still in [10, 30, 50, 150, 700] {
        each_with(|seed| vec![(ms(500 + seed), Fault::Freeze(0, ms(still)))], is_exact);
    }
}

#[test]
fn a_short_stall_of_the_store_has_no_effect() {
    each_with(|seed| vec![(ms(500 + seed), Fault::FreezeStore(ms(12 + seed)))], is_exact);
}

#[test]
fn a_long_stall_of_the_store_makes_nodes_blind() {
    let faults = |seed| vec![(ms(500 + seed), Fault::FreezeStore(ms(300 + 100 * seed)))];
    each_with(faults, |outcome| {
        assert!(outcome.blind_frames > 0);
        is_exact(outcome);
    });
}

#[test]
fn a_store_that_comes_back_empty_is_filled_again() {
    let faults = |seed| {
        let frozen = (ms(1_500 + seed), Fault::FreezeStore(ms(200)));
        vec![(ms(500 + seed), Fault::Lose), frozen, (ms(1_501 + seed), Fault::Lose)]
    };
    each_with(faults, is_exact);
}

#[test]
fn a_node_that_is_cut_off_makes_some_start_twice_and_they_are_counted() {
    let faults = |seed| vec![(ms(500 + seed), Fault::CutOff(1, ms(50 * seed)))];
    each_with(faults, |outcome| {
        assert_eq!(outcome.lost, 0);
        // The limit is a quarter of the load, for the time of the cut-off and for the time until the node stops waiting
        // for a lost response.
        assert!(outcome.twice <= 10 * (12 * 50 + 400) / 4 + 400, "{}", outcome.twice);
        assert_eq!(outcome.account, (outcome.started, 0, outcome.twice));
    });
}

#[test]
fn nodes_that_join_and_leave_take_their_share_and_nothing_else_changes() {
    let faults = |seed| {
        let joins = (0..=seed % 5).map(|node| (ms(500 + 90 * node), Fault::Join));
        joins.chain([(ms(1_500 + seed), Fault::Leave(0))]).collect()
    };
    each_with(faults, is_exact);
}

#[test]
fn a_change_of_the_load_takes_as_much_memory_as_it_says() {
    let after = |changes: u32| {
        let change = |number| (ms(100 * number), Fault::Change("hold 1k/s 1s".to_owned()));
        let faults = (1..=changes).map(change).collect();
        simulate(&Setup { shape: "hold 1k/s 1s".to_owned(), faults, ..Setup::default() })
    };
    let (some, more) = (after(20), after(60));
    assert!(some.closes && more.closes && more.expected > some.expected, "{more:?}");
    let owners = 2 * more.tracks as usize * (40 + 1);
    let bytes = more.store_bytes - some.store_bytes;
    assert!(bytes < owners + 40 * 32, "{bytes} bytes");
}

#[test]
fn a_change_of_the_load_loses_nothing() {
    let faults = |seed| {
        vec![
            (ms(500 + seed), Fault::Change("hold 4k/s 1s".to_owned())),
            (ms(900), Fault::FreezeStore(ms(20 * seed))),
            (ms(1_200), Fault::Change("ramp 1k/s..20k/s 1s".to_owned())),
        ]
    };
    each_with(faults, is_exact);
}

/// Only the node with the slow link knows the first change when the store loses it. Other nodes restore the store's
/// data, and the second change is made in place of the first one, before the node with the slow link sends another
/// request.
#[test]
fn a_change_that_was_lost_does_not_live_on_in_some_nodes() {
    for step in 0..10 {
        let setup = |seed| Setup {
            round_trips: vec![ms(1), ms(1), ms(1), ms(80)],
            faults: vec![
                (ms(500 + 10 * step), Fault::Change("hold 4k/s 1s".to_owned())),
                (ms(545 + 10 * step), Fault::Lose),
                (ms(600 + 10 * step + 3 * seed), Fault::Change("hold 2k/s 2s".to_owned())),
            ],
            ..Setup::default()
        };
        each(setup, is_true);
    }
}

#[test]
fn links_may_be_slow_for_ever() {
    for trip in [1, 10, 50, 150, 300] {
        let setup = |seed: u32| Setup {
            nodes: 2 + seed % 4,
            round_trip: ms(trip),
            round_trips: if seed.is_multiple_of(3) {
                vec![ms(1), ms(trip / 3)]
            } else {
                Vec::new()
            },
            jitter: [0.0, 0.3][seed as usize % 2],
            ..Setup::default()
        };
        each(setup, is_exact);
    }
}

#[test]
fn a_node_that_is_far_away_joins_later() {
    for trip in [20, 150, 300] {
        let setup = |seed| Setup {
            round_trips: vec![ms(1), ms(1), ms(1), ms(1), ms(trip), ms(trip)],
            round_trip: ms(1),
            faults: vec![(ms(500 + seed), Fault::Join), (ms(510 + seed), Fault::Join)],
            frame: ms(20),
            ..Setup::default()
        };
        each(setup, is_exact);
    }
}

/// A delay of less than half the lead has no effect. A longer delay costs at most the node's share of the slots of one
/// lead.
#[test]
fn a_link_that_becomes_slow_costs_next_to_nothing() {
    for (before, after, most) in [(1, 25, 0), (25, 150, 0), (1, 150, 0), (1, 300, 875)] {
        let setup = |seed| Setup {
            shape: "hold 10k/s 6s".to_owned(),
            round_trip: ms(before),
            faults: vec![
                (ms(1_000 + 7 * seed), Fault::Link(1, ms(after))),
                (ms(4_000 + 7 * seed), Fault::Link(1, ms(before))),
            ],
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert!(outcome.lost <= most && outcome.twice <= most, "{before} to {after} ms");
            assert!(outcome.largest_share <= 2.0, "{} of its share", outcome.largest_share);
            is_true(outcome);
        });
    }
}

#[test]
fn a_stall_of_all_nodes_loses_nothing() {
    for still in [800, 60_000] {
        let setup = |seed| Setup {
            shape: format!("hold 100/s {}ms", still + 3_000),
            faults: (0..4).map(|node| (ms(500 + seed), Fault::Freeze(node, ms(still)))).collect(),
            ..Setup::default()
        };
        each(setup, |outcome| {
            is_exact(outcome);
            assert!(outcome.most_asked <= 64, "one request asked for {}", outcome.most_asked);
        });
    }
}

#[test]
fn a_change_during_a_stall_of_all_nodes_loses_nothing() {
    let faults = |seed: u32| {
        let freezes = (0..4).map(|node| (ms(500 + seed), Fault::Freeze(node, ms(800))));
        let change = Fault::Change("hold 4k/s 1s".to_owned());
        freezes.chain([(ms(700 + 10 * seed), change)]).collect()
    };
    each_with(faults, is_exact);
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
    each(setup, is_exact);
}
