//! Tests clocks of the store and of machines that are set, stop, or run at different rates.

use super::{each, each_of, is_true, ms, seeds_of};
use crate::simulation::{Fault, Setup, simulate};
use std::time::Duration;

/// If the store's clock was set forward, the slots of the skipped time start at once. If it was set back, later slots
/// start late by the same time.
#[test]
fn when_the_clock_of_the_store_is_set_each_slot_starts_once() {
    let mut cases = 0..;
    for by_ms in [-20_000_i64, -1_000, -150, -50, 50, 150, 5_000, 3_600_000] {
        for (far, case) in [1, 300].into_iter().zip(&mut cases) {
            let setup = |seed| Setup {
                shape: "hold 10k/s 6s".to_owned(),
                round_trips: [1, far, far / 2, far].map(ms).to_vec(),
                faults: vec![(ms(500 + seed), Fault::SetClock(1_000 * by_ms))],
                ..Setup::default()
            };
            each_of(seeds_of(case), setup, |outcome| {
                assert_eq!(outcome.lost, 0, "{by_ms} ms");
                // The nodes do not set their clocks at exactly the same time, so slots of up to two frames may start
                // twice.
                let two_frames = 20 * outcome.frame.as_millis();
                assert!(u128::from(outcome.twice) <= two_frames, "{by_ms} ms");
                assert_eq!(outcome.account, (outcome.started, 0, outcome.twice));
                let is_off = u128::from(by_ms.unsigned_abs()) > outcome.frame.as_millis();
                assert_eq!(outcome.stepped > Duration::ZERO, is_off, "{by_ms} ms");
            });
        }
    }
}

/// If a link is slow in one direction, a node measures the store's time less exactly. It must not mistake this error
/// for a clock that was set.
#[test]
fn a_link_that_becomes_slow_one_way_moves_no_clock() {
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

/// The machine's clock does not advance while the machine is suspended. Until the node sets its clock, the node lags
/// by the length of the suspension.
#[test]
fn a_node_whose_machine_was_suspended_disturbs_no_other() {
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

/// No numbers of slots are asserted, because each of these faults costs slots.
#[test]
fn the_account_is_true_where_a_clock_is_set_and_something_else_fails() {
    use Fault::{CutOff, FreezeStore, Join, Kill, Lose, SetClock, Suspend};
    let mut cases = 0..;
    for by_ms in [-5_000, -300, 300, 60_000] {
        let faults = [
            (2_000, Kill(1)),
            (2_100, Lose),
            (1_900, CutOff(0, ms(2_500))),
            (1_500, FreezeStore(ms(4_000))),
            (2_050, Join),
            (1_000, Suspend(1, ms(1_000))),
            (3_000, SetClock(-1_000 * by_ms)),
        ];
        for ((at, fault), case) in faults.into_iter().zip(&mut cases) {
            let setup = |seed| Setup {
                nodes: 2 + seed % 3,
                shape: "hold 1k/s 9s".to_owned(),
                loss: f64::from(seed % 2) / 50.0,
                faults: vec![(ms(at), fault.clone()), (ms(2_000), SetClock(1_000 * by_ms))],
                ..Setup::default()
            };
            each_of(seeds_of(case), setup, |_| {});
        }
    }
}

#[test]
fn a_node_learns_how_much_its_clock_differs() {
    let at = |shape: &str| {
        let (shape, drift_ppm) = (shape.to_owned(), 200.0);
        simulate(&Setup { nodes: 8, shape, drift_ppm, ..Setup::default() }).start_error
    };
    // The rates of the clocks differ most at the beginning, before the nodes have measured the difference.
    let [short, long] = [at("hold 1k/s 5s"), at("hold 1k/s 50s")];
    assert!(long < short / 2, "{short:?} {long:?}");
}
