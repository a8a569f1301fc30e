//! Tests: clocks that are set, stand still and differ, the store's and those of machines.

use super::{each, is_true, ms};
use crate::simulation::{Fault, Setup, simulate};

#[test]
fn when_the_clock_of_the_store_is_set_the_load_stays_on_course() {
    for by_us in [-3_600_000_000, -50_000, 50_000, 5_000_000] {
        let setup = |seed| Setup {
            shape: "hold 10k/s 6s".to_owned(),
            faults: vec![(ms(500 + seed), Fault::SetClock(by_us))],
            ..Setup::default()
        };
        let far = |seed| Setup { round_trips: [1, 300, 150, 300].map(ms).to_vec(), ..setup(seed) };
        // Nodes may be blind meanwhile, and don't find back at the same moment: two frames at most, or one of 300 ms.
        each(setup, |outcome| assert!(outcome.lost == 0 && outcome.twice <= 400, "{by_us} us"));
        each(far, |outcome| assert!(outcome.lost == 0 && outcome.twice <= 750, "{by_us} us"));
    }
}

/// It was late, so it has put off asking for some. It stays until the store is believed again.
#[test]
fn a_node_that_leaves_late_while_the_clock_is_off_loses_next_to_nothing() {
    for by_us in [-250_000, 150_000] {
        let setup = |seed| Setup {
            round_trip: ms(5),
            faults: vec![
                (ms(690 + 13 * seed), Fault::Freeze(0, ms(300))),
                (ms(700 + 13 * seed), Fault::SetClock(by_us)),
                (ms(1_000 + 13 * seed), Fault::Leave(0)),
            ],
            ..Setup::default()
        };
        each(setup, |outcome| {
            // Nodes don't find back at the same moment, and of what they were given before they knew of the clock
            // others have started some: half a frame at most.
            assert!(outcome.lost <= 500 && outcome.account.1 <= 500, "{outcome:?}");
        });
    }
}

/// What time the store has is then known less well. Nobody takes that for a clock that was set, by which all others
/// would go.
#[test]
fn a_link_that_becomes_slow_one_way_moves_nobodys_clock() {
    for slow in [50, 150, 300] {
        let setup = |seed| Setup {
            shape: "hold 10k/s 12s".to_owned(),
            faults: vec![(ms(1_000 + 7 * seed), Fault::OneWay(1, ms(slow)))],
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert!(outcome.lost <= 875 && outcome.twice <= 875, "{slow} ms: {outcome:?}");
            assert!(outcome.blind_frames <= 10, "{slow} ms: {outcome:?}");
            is_true(outcome);
        });
    }
}

/// Its own clock does not tell it, so it goes on as late as that. The others do not follow it: after two seconds, or ten
/// frames, it follows the store.
#[test]
fn a_node_whose_machine_was_suspended_disturbs_nobody() {
    for (still, trip) in [(100, 1), (400, 150), (1_500, 1), (1_500, 300), (60_000, 25)] {
        let setup = |seed| Setup {
            nodes: 2 + seed % 4,
            shape: format!("hold 10k/s {}ms", still + 6_000),
            round_trip: ms(trip),
            faults: vec![(ms(1_000 + 7 * seed), Fault::Suspend(1, ms(still)))],
            ..Setup::default()
        };
        each(setup, |outcome| {
            let blind = outcome.frame * u32::try_from(outcome.blind_frames).unwrap();
            let alone = ms(3_000).max(10 * outcome.frame + ms(1_000));
            assert!(blind <= alone + 2 * ms(trip), "{still} ms: {outcome:?}");
            assert!(outcome.largest_share <= 2.5, "{still} ms: {outcome:?}");
            let a_frame = 10 * outcome.frame.as_millis();
            assert!(u128::from(outcome.lost) <= a_frame, "{still} ms: {outcome:?}");
            is_true(outcome);
        });
    }
}

/// A load of 16 s, over links of so many milliseconds, with faults at so many.
fn with(faults: &[(u32, Fault)], nodes: u32, trip: u32) -> Setup {
    Setup {
        nodes,
        round_trip: ms(trip),
        shape: "hold 1000/s 16s".to_owned(),
        faults: faults.iter().map(|(at, fault)| (ms(*at), fault.clone())).collect(),
        ..Setup::default()
    }
}

/// Nobody takes it for the clock of its own machine, by which it would stand still or start all that it had missed.
#[test]
fn clocks_that_are_set_when_nodes_are_not_there_do_no_harm() {
    use Fault::{CutOff, FreezeStore, Kill, SetClock, Suspend};
    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3_600 * SECOND;
    let away = ms(2_500);
    for (nodes, trip, faults) in [
        (1, 300, vec![(3_600, SetClock(-30 * SECOND)), (4_300, SetClock(-5 * SECOND))]),
        (
            5,
            300,
            vec![
                (2_400, SetClock(SECOND / 2)),
                (3_600, SetClock(SECOND / 2)),
                (5_900, SetClock(-HOUR)),
            ],
        ),
        (2, 1, vec![(3_500, Suspend(0, ms(155))), (5_000, SetClock(-60 * SECOND))]),
        (2, 1, vec![(3_500, Suspend(0, ms(155))), (5_000, SetClock(60 * SECOND))]),
        (3, 1, vec![(2_000, Suspend(0, ms(1_000))), (4_990, SetClock(-60 * SECOND))]),
        (4, 1, vec![(2_000, SetClock(60 * SECOND)), (2_100, CutOff(0, away))]),
        (4, 150, vec![(2_000, SetClock(-60 * SECOND)), (2_250, CutOff(0, away))]),
        (4, 1, vec![(2_000, CutOff(2, away)), (2_000, CutOff(3, away)), (2_300, SetClock(-HOUR))]),
        (2, 1, vec![(2_000, Kill(1)), (2_200, SetClock(-HOUR)), (6_000, SetClock(HOUR))]),
        (2, 1, vec![(2_000, Kill(1)), (2_200, SetClock(SECOND))]),
        (2, 1, vec![(2_000, Kill(1)), (9_000, SetClock(60 * SECOND))]),
        (5, 300, vec![(4_600, SetClock(-HOUR)), (4_748, Kill(1))]),
        (2, 1, vec![(2_000, SetClock(-60 * SECOND)), (4_000, Kill(1)), (9_000, SetClock(-SECOND))]),
        (4, 1, vec![(2_000, FreezeStore(ms(4_000))), (2_500, SetClock(-3 * SECOND))]),
        (4, 300, vec![(2_000, SetClock(-60 * SECOND))]),
    ] {
        let setup = |_| with(&faults, nodes, trip);
        each(setup, |outcome| {
            assert!(outcome.lost <= 1_250 && outcome.twice <= 2_000, "{faults:?}: {outcome:?}");
            assert!(outcome.last_lost < Some(ms(10_000)), "{faults:?}: {outcome:?}");
            assert!(outcome.requests_per_second < 20.0 * f64::from(nodes), "{faults:?}");
        });
        // The account is true where messages are lost, too.
        each(|seed| Setup { loss: 0.02, ..setup(seed) }, |_| {});
    }
}

/// It waits until the others have said by how much that was, or is led by what they say then.
#[test]
fn a_node_that_joins_when_the_clock_of_the_store_is_set_is_soon_one_of_the_others() {
    use Fault::{Join, SetClock};
    for (step_ms, trip) in
        [(-60_000, 1), (-1_000, 300), (-300, 1), (1_000, 1), (60_000, 1), (60_000, 300)]
    {
        for at in [3_900, 3_999, 4_020, 4_100] {
            for nodes in [1, 4] {
                let faults = [(at, Join), (4_000, SetClock(1_000 * step_ms))];
                each(
                    |_| with(&faults, nodes, trip),
                    |outcome| {
                        assert!(outcome.lost + outcome.twice <= 300, "{faults:?}: {outcome:?}");
                    },
                );
            }
        }
    }
}

/// It knows better from then on, and does not follow the next step.
#[test]
fn a_node_that_has_joined_before_the_clock_of_the_store_is_set_has_seen_it() {
    use Fault::{Join, SetClock};
    for (step_ms, back_ms) in [(325_000, -1_567_000), (60_000, -60_000), (-60_000, 60_000)] {
        for (join, later) in [(3_700, 100), (3_700, 800), (3_900, 100), (4_050, 800)] {
            for nodes in [1, 3] {
                let steps = [(4_000, step_ms), (4_000 + later, back_ms)];
                let steps = steps.map(|(at, ms)| (at, SetClock(1_000 * ms)));
                let faults = [&[(join, Join)][..], &steps].concat();
                each(
                    |_| with(&faults, nodes, 1),
                    |outcome| {
                        assert!(outcome.lost + outcome.twice <= 600, "{faults:?}: {outcome:?}");
                    },
                );
            }
        }
    }
}

/// As by a server without data that takes over.
#[test]
fn a_store_that_is_emptied_while_its_clock_is_set_is_filled_again() {
    use Fault::{Lose, SetClock, Suspend};
    const MINUTE: i64 = 60_000_000;
    for (nodes, faults) in [
        (6, vec![(4_000, SetClock(MINUTE / 12)), (4_050, Lose)]),
        (6, vec![(4_000, SetClock(-MINUTE / 12)), (4_150, Lose)]),
        (3, vec![(2_600, Suspend(2, ms(2_511))), (2_700, Lose), (5_700, SetClock(500_000))]),
        (4, vec![(4_000, SetClock(MINUTE)), (4_010, Lose)]),
        (4, vec![(4_000, SetClock(-MINUTE)), (4_010, Lose)]),
        (1, vec![(4_000, SetClock(60 * MINUTE)), (4_010, Lose)]),
    ] {
        for trip in [1, 150] {
            each(
                |_| with(&faults, nodes, trip),
                |outcome| {
                    assert!(
                        outcome.lost <= 300 && outcome.twice <= 1_000,
                        "{faults:?}: {outcome:?}"
                    );
                    assert!(
                        outcome.blind_frames <= 20 * u64::from(nodes),
                        "{faults:?}: {outcome:?}"
                    );
                },
            );
        }
    }
}

/// Then the run goes by their clocks, and the third node follows the store.
#[test]
fn if_most_machines_were_suspended_the_run_begins_later() {
    for (suspended, trip, most) in [(2, 1, 8_000), (2, 300, 15_000), (3, 1, 0), (3, 300, 0)] {
        let suspend = |node, seed| (ms(1_000 + 7 * seed), Fault::Suspend(node, ms(900)));
        let setup = |seed| Setup {
            nodes: 3,
            shape: "hold 10k/s 16s".to_owned(),
            round_trip: ms(trip),
            faults: (0..suspended).map(|node| suspend(node, seed)).collect(),
            ..Setup::default()
        };
        each(setup, |outcome| {
            assert!(outcome.twice <= most && outcome.lost <= most / 3, "{outcome:?}");
            is_true(outcome);
        });
    }
}

#[test]
fn a_node_learns_how_much_its_clock_differs() {
    let at = |shape: &str| {
        let (shape, drift_ppm) = (shape.to_owned(), 200.0);
        simulate(&Setup { nodes: 8, shape, drift_ppm, ..Setup::default() }).start_error
    };
    // What there is of the error comes from the beginning.
    let [short, long] = [at("hold 1k/s 5s"), at("hold 1k/s 50s")];
    assert!(long < short / 2, "{short:?} {long:?}");
}
