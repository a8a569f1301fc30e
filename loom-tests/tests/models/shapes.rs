//! Models of schedules that follow a shape: the published chord, and changes of the shape. A slot is *known to be due*
//! if a clock reading that a caller has published shows that it is due.

use loom_tests::{
    MICRO, MILLI, SECOND, assert_balanced, at, drain, explore, explore_less, intended_ns, paced,
    paced_by_shape, shape, slots, span, spawn, spawn_with,
};
use nanopace::driver::Drive as _;
use nanopace::{Ended, Pacer};

/// A shape with slots 0, 1 and 2 at 1M/s and later ones at 4M/s. A chord ends at slot 2.
const BEND: &str = "hold 1M/s 2us, hold 4M/s 1s";

const BENT: [u64; 7] = [0, 1_000, 2_000, 2_250, 2_500, 2_750, 3_000];

/// Returns a pacer whose slot 0 has started. The other slots of [`BENT`] are due. Slot 3 would be due too if the chord
/// continued after slot 2.
fn behind() -> Pacer {
    let (clock, pacer) = paced_by_shape(BEND);
    pacer.acquire().unwrap();
    clock.advance(span(3_100));
    pacer
}

/// Threads: two that each acquire two slots; slot 0 has started, and six slots are due. Edits: a chord continues after
/// the straight part; a snapshot covers slots after its chord; slots after the chord are known to be due.
#[test]
fn a_renewed_chord_loses_no_slot() {
    explore_less(1, "a_renewed_chord_loses_no_slot", || {
        let pacer = behind();
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
        let mine = [(); 2].map(|()| pacer.acquire().unwrap());
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(mine).chain(other);
        assert_eq!(slots(grants), BENT[1..]);
        assert_eq!(pacer.ledger().granted, 7);
        assert_balanced(&pacer);
    });
}

/// Threads: one that reads the due time of the next slot; one that acquires this slot and so renews the chord. Edits:
/// `Hot::stretch` loads `ends_at` `Relaxed`, or `Hot::store` stores it `Relaxed`; a snapshot covers slots after its
/// chord.
#[test]
fn a_chord_is_read_whole() {
    explore("a_chord_is_read_whole", || {
        let (clock, pacer) = paced_by_shape(BEND);
        clock.advance(span(2_600));
        // These slots are known to be due, so they do not renew the chord.
        for _ in 0..2 {
            pacer.acquire().unwrap();
        }
        let other = spawn_with(&pacer, |pacer| pacer.next_due().unwrap());
        assert_eq!(intended_ns(pacer.acquire().unwrap()), BENT[2]);
        let due = other.join().unwrap();
        assert!([BENT[2], BENT[3]].map(at).contains(&due), "{due:?}");
    });
}

/// Threads: one whose lane starts three slots and is dropped; one that acquires a slot. The lane has started slots 0 to
/// 2, two of them in a run, so it may claim four at once; six slots are due, two of them on the chord. Edits: slots
/// after the chord are known to be due; `exchange` is split into a load, a comparison and a store.
#[test]
fn lanes_share_a_chord_that_is_renewed() {
    explore_less(1, "lanes_share_a_chord_that_is_renewed", || {
        let (clock, pacer) = paced_by_shape("hold 1M/s 4us, hold 4M/s 1s");
        let mut lane = pacer.lane();
        lane.acquire().unwrap();
        clock.advance(span(2_100));
        for _ in 0..2 {
            lane.acquire().unwrap();
        }
        clock.advance(span(3_100));
        let other = spawn(move || {
            let mut lane = lane;
            [(); 3].map(|()| lane.acquire().unwrap())
        });
        let mine = pacer.acquire().unwrap();
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([mine]).chain(other);
        assert_eq!(slots(grants), [3_000, 4_000, 4_250, 4_500, 4_750, 5_000]);
        assert_eq!(pacer.ledger().granted, 9);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires two slots, which are not due; one that claims a slot and moves the clock forward. Edits:
/// a snapshot covers slots after its chord, or before it.
#[test]
fn no_slot_starts_early_on_a_renewed_chord() {
    explore_less(1, "no_slot_starts_early_on_a_renewed_chord", || {
        let (clock, pacer) = paced_by_shape(BEND);
        clock.advance(span(MICRO));
        for _ in 0..2 {
            pacer.acquire().unwrap();
        }
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
        let mut claim = pacer.claim().unwrap();
        clock.advance(span(10 * MICRO));
        let grants = other.join().unwrap().into_iter().chain([claim.start().unwrap()]);
        let grants: Vec<_> = grants.collect();
        assert!(grants.iter().all(|grant| grant.actual_start() >= grant.intended_start()));
        assert_eq!(slots(grants), BENT[2..5]);
    });
}

/// Threads: one that acquires a slot, one that sets a shape and moves the clock forward. Three slots are due. Edit: the
/// new piece is used for slots that were due before it.
#[test]
fn a_new_shape_loses_no_slot() {
    explore_less(1, "a_new_shape_loses_no_slot", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(2 * MICRO));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        pacer.set_shape(shape("hold 250k/s 8us, hold 500k/s 1s"));
        clock.advance(span(10 * MICRO));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([other]);
        assert_eq!(slots(grants), [0, 1, 2, 6, 10, 12].map(|micros| micros * MICRO));
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires two slots due in an hour; one that sets a shape and moves the clock forward by 1 ms.
/// Edits: `wake_moved` wakes no sleeper, or wakes sleepers before it has withdrawn the published state.
#[test]
fn a_new_shape_reaches_sleepers() {
    explore("a_new_shape_reaches_sleepers", || {
        let (clock, pacer) = paced_by_shape("hold 1/s 1ms, hold 0/s 1h, hold 1/s 1h");
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        pacer.set_shape(shape("hold 1k/s 1s"));
        clock.advance(span(MILLI));
        assert_eq!(intended_ns(other.join().unwrap()), MILLI);
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// Threads: one that sets a shape, one that pauses the pacer for a second. Edits: a resume does not move the shape's
/// end; a new shape begins by the clock.
#[test]
fn a_pause_does_not_count_in_a_new_shape() {
    explore("a_pause_does_not_count_in_a_new_shape", || {
        // Half of the interval was left, which takes 1 us at 500k/s. The next slot follows 1 us after that, at 1M/s.
        let change = |pacer: &Pacer| pacer.set_shape(shape("hold 500k/s 1us, hold 1M/s 2us"));
        assert_eq!(starts_behind_a_pause(change), [1_500, 2_500]);
    });
}

/// Threads: one that corrects the shape, one that pauses the pacer for a second. Edit: a resume does not move the
/// shape's beginning.
#[test]
fn a_pause_does_not_count_in_a_correction() {
    explore("a_pause_does_not_count_in_a_correction", || {
        let change = |pacer: &Pacer| pacer.correct_shape(shape("hold 500k/s 3us, hold 1M/s 1us"));
        assert_eq!(starts_behind_a_pause(change), [2_000, 3_500]);
    });
}

/// Makes the change before, during or after a pause of 1 s, which begins at 500 ns. Slot 0 started at 0 ns at 1M/s.
/// Returns the starts of the other slots in nanoseconds, with the length of the pause subtracted.
fn starts_behind_a_pause(change: fn(&Pacer)) -> Vec<u64> {
    let (clock, pacer) = paced("1M/s");
    pacer.acquire().unwrap();
    clock.advance(span(MICRO / 2));
    let other = spawn_with(&pacer, change);
    pacer.pause();
    clock.advance(span(SECOND));
    pacer.resume();
    other.join().unwrap();
    clock.advance(span(10 * MICRO));
    let starts = slots(drain(&pacer)).into_iter().map(|start| start - SECOND).collect();
    assert_eq!(pacer.acquire(), Err(Ended::Finished));
    assert_balanced(&pacer);
    starts
}

/// Threads: one that acquires a slot due in an hour; one that closes the pacer and sets a shape in which the slot is
/// due at once. Edits: `refuse_if_closed` refuses no caller, or keeps the slot.
#[test]
fn a_new_shape_opens_nothing_that_is_closed() {
    explore("a_new_shape_opens_nothing_that_is_closed", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let sleeper = spawn_with(&pacer, Pacer::acquire);
        pacer.close();
        pacer.set_shape(shape("hold 1G/s 1s"));
        assert_eq!(sleeper.join().unwrap(), Err(Ended::Closed));
        assert_eq!(pacer.acquire(), Err(Ended::Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}
