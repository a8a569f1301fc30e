//! Models of lanes: blocks of slots, and what becomes of the rest.

#![cfg(loom)]

use loom_tests::{
    MICRO, Watched, assert_balanced, drain, explore, intended_ns, manual, rate, slots, span, spawn,
};
use nanopace::{Closed, Pacer};

/// A lane gives the rest of its block back, once, whoever claims meanwhile.
///
/// Threads: one whose lane takes a block of ten, starts one, gives the rest back and is dropped; one that acquires. Four
/// slots are due.
/// Edits: `Timeline::give_back` puts the slots aside even though it has taken them back; `exchange` as a load, a comparison and
/// a store; `Lane::give_back` keeps its `end`.
#[test]
fn a_block_goes_back_once() {
    explore("a_block_goes_back_once", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3_500));
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                let mut lane = pacer.lane();
                let grant = lane.acquire().unwrap();
                lane.give_back();
                grant
            }
        });
        let mine = pacer.acquire().unwrap().settled();
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([mine, other]);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// So it does during a change of the rate.
///
/// Threads: one that drops a lane which has started one slot of its block; one that changes the rate and acquires. Four
/// slots are due.
/// Edits: `Timeline::give_back` puts the slots aside even though it has taken them back; `from` is stored or loaded
/// `Relaxed`; `add` or `exchange` by a load and a store.
#[test]
fn a_block_goes_back_once_during_a_rate_change() {
    explore("a_block_goes_back_once_during_a_rate_change", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = lane.acquire().unwrap();
        let other = spawn(move || drop(lane));
        pacer.set_rate(rate("1/s"));
        let mine = pacer.acquire().unwrap().settled();
        other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([first, mine]);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// A lane that goes on while the rate changes starts each of its slots once, and gives back the others.
///
/// Threads: one whose lane starts the second slot of its block and is dropped; one that changes the rate. Four slots are
/// due.
/// Edits: `Timeline::give_back` puts the slots aside even though it has taken them back.
#[test]
fn a_lane_goes_on_during_a_rate_change() {
    explore("a_lane_goes_on_during_a_rate_change", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = lane.acquire().unwrap();
        let other = spawn(move || lane.acquire().unwrap());
        pacer.set_rate(rate("1/s"));
        let started = [first, other.join().unwrap()];
        let grants = drain(&pacer).into_iter().chain(started);
        assert_eq!(slots(grants), [0, MICRO, 2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Two lanes never hold the same slot, and what both leave is all there.
///
/// Threads: two whose lanes start two slots each and are dropped. Six slots are due.
/// Edits: `take_first` leaves the slot it takes; `Timeline::give_back` forgets the slots when they are not the latest; `add` or
/// `exchange` by a load and a store.
#[test]
fn lanes_share_nothing() {
    explore("lanes_share_nothing", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(5_500));
        let start_two = |pacer: &Pacer| {
            let mut lane = pacer.lane();
            [(); 2].map(|()| lane.acquire().unwrap())
        };
        let other = spawn({
            let pacer = pacer.clone();
            move || start_two(&pacer)
        });
        let mine = start_two(&pacer);
        let grants = other.join().unwrap().into_iter().chain(mine).chain(drain(&pacer));
        assert_eq!(slots(grants), [0, 1, 2, 3, 4, 5].map(|slot| slot * MICRO));
        assert_eq!(pacer.ledger().granted, 6);
        assert_balanced(&pacer);
    });
}

/// A lane that sleeps lets go of the rest of its block when the schedule slows down, and starts on the new one.
///
/// Threads: one whose lane sleeps for slot 1, due in half a microsecond, and holds the rest of a block; one that then
/// sets the rate to 100 per second and takes slot 2 when it is due.
/// Edit: `pace` does not call `on_change`.
#[test]
fn a_sleeping_lane_lets_go() {
    explore("a_sleeping_lane_lets_go", || {
        let clock = Watched::default();
        let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
        pacer.acquire().unwrap();
        clock.manual.advance(span(MICRO / 2));
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                let mut lane = pacer.lane();
                let grant = lane.acquire().unwrap();
                (lane, grant)
            }
        });
        clock.wait_for(Watched::slept, 1);
        pacer.set_rate(rate("100/s"));
        // Half of slot 1's interval is left, so it is due in 5 ms.
        clock.manual.advance(span(5_000 * MICRO));
        let (lane, first) = other.join().unwrap();
        assert_eq!(intended_ns(first), 5_000_500);
        clock.manual.advance(span(10_000 * MICRO));
        assert_eq!(slots(drain(&pacer)), [15_000_500]);
        drop(lane);
        assert_eq!(pacer.ledger().granted, 3);
        assert_balanced(&pacer);
    });
}

/// A lane stops when the pacer is closed, and counts as granted what it has started.
///
/// Threads: one whose lane acquires twice, looks, and is dropped; one that closes. Three slots are due.
/// Edit: `Due::next` does not look at the gate.
#[test]
fn a_closed_lane_gives_back() {
    explore("a_closed_lane_gives_back", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2_500));
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                let mut lane = pacer.lane();
                let started = [(); 2].map(|()| lane.acquire());
                // Closed is closed: the lane knows it as soon as it can know.
                (started, pacer.is_closed().then(|| lane.acquire()))
            }
        });
        pacer.close();
        let (started, after) = other.join().unwrap();
        assert!(after.is_none_or(|after| after == Err(Closed)));
        let granted = started.iter().filter(|start| start.is_ok()).count();
        assert_eq!(pacer.ledger().granted, u64::try_from(granted).unwrap());
        assert_balanced(&pacer);
    });
}
