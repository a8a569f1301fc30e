//! Models of lanes, which claim several slots in one run and give the rest of a run back.
//!
//! A lane's first run is one slot, because its pace is not measured yet; the second run is two slots.

use loom_tests::{
    MICRO, assert_balanced, drain, explore, explore_less, paced, rate, slots, span, spawn,
    spawn_with,
};
use nanopace::Ended;

/// Threads: one whose lane starts two slots, gives back the third, gives back again, and is dropped; one that acquires
/// a slot. Four slots are due. Edits: `make_free` stores slots as returned although it has taken them back; `exchange`
/// is split into a load, a comparison and a store; `Lane::give_back` keeps its run.
#[test]
fn a_run_goes_back_once() {
    explore("a_run_goes_back_once", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let other = spawn_with(&pacer, |pacer| {
            let mut lane = pacer.lane();
            let grants = [(); 2].map(|()| lane.acquire().unwrap());
            lane.give_back();
            lane.give_back();
            grants
        });
        let mine = pacer.acquire().unwrap();
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(other).chain([mine]);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Threads: one that drops a lane that has started two slots and holds a third; one that changes the rate and acquires
/// a slot. Four slots are due. Edit: `make_free` stores slots as returned although it has taken them back.
#[test]
fn a_run_goes_back_once_during_a_rate_change() {
    explore("a_run_goes_back_once_during_a_rate_change", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = [(); 2].map(|()| lane.acquire().unwrap());
        let other = spawn(move || drop(lane));
        pacer.set_rate(rate("1/s"));
        let mine = pacer.acquire().unwrap();
        other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(first).chain([mine]);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Threads: one whose lane has started two slots, holds a third, starts one more and is dropped; one that changes the
/// rate. Four slots are due. Edits: `make_free` stores slots as returned although it has taken them back; the lane
/// forgets the remaining slots of its run.
#[test]
fn a_lane_goes_on_during_a_rate_change() {
    explore("a_lane_goes_on_during_a_rate_change", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = [(); 2].map(|()| lane.acquire().unwrap());
        let other = spawn(move || lane.acquire().unwrap());
        pacer.set_rate(rate("1/s"));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(first).chain([other]);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Threads: one whose lane starts two slots, holds a third and is dropped; one whose lane starts one slot. Five slots
/// are due. Edits: `take_earliest` does not remove the slot that it returns; `make_free` forgets slots that are not the
/// latest; `exchange` is split into a load, a comparison and a store.
#[test]
fn lanes_share_nothing() {
    explore_less(1, "lanes_share_nothing", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(4_500));
        let other = spawn_with(&pacer, |pacer| pacer.lane().acquire().unwrap());
        let mut lane = pacer.lane();
        let mine = [(); 2].map(|()| lane.acquire().unwrap());
        drop(lane);
        let grants = mine.into_iter().chain([other.join().unwrap()]).chain(drain(&pacer));
        assert_eq!(slots(grants), [0, 1, 2, 3, 4].map(|slot| slot * MICRO));
        assert_eq!(pacer.ledger().granted, 5);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires two slots with a lane, so that the lane holds a third slot, then acquires again if the
/// pacer is closed, and drops the lane; one that closes the pacer. Four slots are due. Edit: `SlotRun::next` does not check
/// the version.
#[test]
fn a_closed_lane_gives_back() {
    explore("a_closed_lane_gives_back", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let other = spawn_with(&pacer, |pacer| {
            let mut lane = pacer.lane();
            let started = [(); 2].map(|()| lane.acquire());
            // The lane starts no slot once it sees the close.
            (started, pacer.is_closed().then(|| lane.acquire()))
        });
        pacer.close();
        let (started, after) = other.join().unwrap();
        assert!(after.is_none_or(|after| after == Err(Ended::Closed)));
        let granted = started.iter().filter(|start| start.is_ok()).count();
        assert_eq!(pacer.ledger().granted, u64::try_from(granted).unwrap());
        assert_balanced(&pacer);
    });
}
