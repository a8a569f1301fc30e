//! Models of unevenly spaced slots: shards and leases of a load, and recorded arrivals.

use loom_tests::{
    MICRO, SECOND, assert_balanced, at, drain, explore, explore_less, intended_ns, manual, paced,
    slots, span, spawn, spawn_with, wait_ns,
};
use nanopace::driver::{self, Drive as _, Lease};
use nanopace::{Arrivals, Ended, Grant, ManualClock, Pacer, Refused, Shard, ShardError};

fn first_of_two() -> Shard {
    Shard::new(0, 2).unwrap()
}

/// Threads: one that acquires a slot; one that divides slot 3 and all later slots between two processes and moves the
/// clock forward. Three slots are due. Edits: the change does not turn the line into a curve; the change turns the line
/// into a curve that counts by the new shards from the beginning.
#[test]
fn a_change_of_shards_loses_no_slot() {
    explore_less(1, "a_change_of_shards_loses_no_slot", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(2_500));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        pacer.set_shard(first_of_two(), 3).unwrap();
        clock.advance(span(4 * MICRO));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([other]);
        assert_eq!(slots(grants), [0, 1, 2, 4, 6].map(|micros| micros * MICRO));
        assert_balanced(&pacer);
    });
}

/// Threads: one that claims two slots; one that divides slot 2 and all later slots between two processes. One slot has
/// started, and none is due. Edit: the change does not turn the line into a curve.
#[test]
fn a_claimed_slot_stays_with_its_process() {
    explore("a_claimed_slot_stays_with_its_process", || {
        let (clock, pacer) = paced("1M/s");
        pacer.acquire().unwrap();
        let other =
            spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.claim().unwrap().into_owned()));
        let set = pacer.set_shard(first_of_two(), 2);
        let mut claims = other.join().unwrap();
        clock.advance(span(4 * MICRO));
        let mut grants: Vec<_> = claims.iter_mut().map(|claim| claim.start().unwrap()).collect();
        grants.extend(drain(&pacer));
        match set {
            Ok(()) => assert_eq!(slots(grants), [1, 2, 4].map(|micros| micros * MICRO)),
            Err(refused) => {
                assert_eq!(refused, ShardError::TooLate);
                assert_eq!(slots(grants), [1, 2, 3, 4].map(|micros| micros * MICRO));
            }
        }
    });
}

/// Threads: one that tries to acquire a slot that is due in less than the sleep threshold; one that pauses the pacer
/// and gives that slot and all later slots to two processes. Edits: the change considers only claimed slots; the change
/// does not count slots that may start early as due; the change is never refused.
#[test]
fn a_slot_that_is_due_stays_with_its_process() {
    explore_less(1, "a_slot_that_is_due_stays_with_its_process", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.sleep_threshold(span(MICRO / 2)).build();
        pacer.acquire().unwrap();
        clock.advance(span(3 * MICRO / 4));
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.pause();
        let set = pacer.set_shard(first_of_two(), 1);
        let other = other.join().unwrap();
        assert!(
            other.is_ok_and(|grant| intended_ns(grant) == MICRO) || other == Err(Refused::Paused)
        );
        assert_eq!(set, Err(ShardError::TooLate));
    });
}

/// Threads: one whose lane has started two slots, holds a third, starts two more and is dropped; one that divides slot
/// 6 and all later slots between two processes, and moves the clock forward. Four slots are due. Edits: the published
/// line continues after slot 5; the change does not turn the line into a curve; the lane forgets the remaining slots of
/// its run.
#[test]
fn a_lane_goes_on_during_a_change_of_shards() {
    explore_less(1, "a_lane_goes_on_during_a_change_of_shards", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = [(); 2].map(|()| lane.acquire().unwrap());
        let other = spawn(move || [(); 2].map(|()| lane.acquire().unwrap()));
        pacer.set_shard(first_of_two(), 6).unwrap();
        clock.advance(span(5 * MICRO));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(first).chain(other);
        assert_eq!(slots(grants), [0, 1, 2, 3, 4, 5, 6, 8].map(|micros| micros * MICRO));
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot; one that leases slots 3 and 4 to the pacer, but not slots 1 and 2, and moves the
/// clock forward. Slot 0 was leased before, and has started. Edit: a lease changes no revision.
#[test]
fn a_lease_reaches_waiting_callers() {
    explore_less(1, "a_lease_reaches_waiting_callers", || {
        let (clock, pacer, first) = leased();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        pacer.lease(1, &[Lease::nothing(3), all_until(5)]).unwrap();
        clock.advance(span(4 * MICRO));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([first, other]);
        assert_eq!(slots(grants), [0, 3, 4].map(|micros| micros * MICRO));
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot; one that tries to lease this slot to another process, and is refused. Edit: slots
/// that are due may be leased away.
#[test]
fn a_slot_that_may_start_is_not_leased_away() {
    explore("a_slot_that_may_start_is_not_leased_away", || {
        let (clock, pacer, first) = leased();
        pacer.lease(1, &[all_until(2)]).unwrap();
        clock.advance(span(1_500));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        assert_eq!(pacer.lease(1, &[Lease::nothing(3)]), Err(ShardError::TooLate));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain([first, other]);
        assert_eq!(slots(grants), [0, MICRO]);
        assert_balanced(&pacer);
    });
}

fn leased() -> (ManualClock, Pacer, Grant) {
    let (clock, builder) = manual("1M/s");
    let pacer = driver::leased(builder).build();
    pacer.lease(0, &[all_until(1)]).unwrap();
    let first = pacer.acquire().unwrap();
    (clock, pacer, first)
}

fn all_until(until: u64) -> Lease {
    Lease::of(Shard::new(0, 1).unwrap(), until)
}

/// Threads: one that acquires two slots, one that acquires until no slot is left, on a clock that it moves forward.
/// Edits: unevenly spaced slots are published as a line; a replay does not end.
#[test]
fn recorded_arrivals_have_one_owner_each() {
    explore("recorded_arrivals_have_one_owner_each", || {
        let (clock, builder) = manual("1/s");
        let recorded = [1_000, 1_000, 1_100, 5_000];
        let pacer = builder.arrivals(Arrivals::replay(move || recorded.map(span))).build();
        clock.advance(span(1_050));
        let other = spawn_with(&pacer, |pacer| [(); 2].map(|()| pacer.acquire().unwrap()));
        let mine = drain(&pacer);
        clock.advance(span(10 * MICRO));
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(mine).chain(other);
        let grants: Vec<_> = grants.collect();
        assert!(grants.iter().all(|grant| grant.actual_start() >= grant.intended_start()));
        assert_eq!(slots(grants), recorded);
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
        assert_balanced(&pacer);
    });
}

/// A lane has started two slots, and holds a third. Threads: one that starts one more slot with the lane and drops it;
/// one that changes the speed. Four slots are due. Edit: the remaining slots of a block are forgotten.
#[test]
fn a_block_goes_back_once() {
    explore("a_block_goes_back_once", || {
        let (clock, builder) = manual("1/s");
        let recorded = [0, 1_000, 1_200, 3_000];
        let pacer = builder.arrivals(Arrivals::replay(move || recorded.map(span))).build();
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        let first = [(); 2].map(|()| lane.acquire().unwrap());
        let other = spawn(move || lane.acquire().unwrap());
        pacer.set_rate("1/d".parse().unwrap());
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(first).chain([other]);
        assert_eq!(slots(grants), recorded);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// Threads: one with a lane that has started two slots and holds a third; one that closes the pacer. If the pacer is
/// closed, the first thread acquires a slot with the lane. Then it drops the lane. Four slots are due. Edit:
/// `Block::next` does not check the version.
#[test]
fn a_closed_lane_gives_back_its_block() {
    explore("a_closed_lane_gives_back_its_block", || {
        let (clock, builder) = manual("1/s");
        let recorded = [0, 1_000, 1_200, 3_000];
        let pacer = builder.arrivals(Arrivals::replay(move || recorded.map(span))).build();
        clock.advance(span(3_500));
        let mut lane = pacer.lane();
        assert!((0..2).all(|_| lane.acquire().is_ok()));
        let other = spawn(move || lane.pacer().is_closed().then(|| lane.acquire()));
        pacer.close();
        assert!(other.join().unwrap().is_none_or(|after| after == Err(Ended::Closed)));
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot; one that claims the drawn slot, starts the slot before it, which draws more
/// slots, and gives the claim back. Edits: the sequence is checked once; a sequence that shows a writer at work is
/// accepted; the slots are stored, or loaded, with `Relaxed`.
#[test]
fn drawn_slots_are_read_whole() {
    explore("drawn_slots_are_read_whole", || {
        let (_, pacer, recorded, first) = drawn();
        let mut fourth = pacer.claim().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        let fifth = pacer.claim().unwrap();
        let mine = fourth.start().unwrap();
        drop(fifth);
        let other = other.join().unwrap();
        let grants = drain(&pacer).into_iter().chain(first).chain([mine, other]);
        assert_eq!(slots(grants), recorded);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot if the pacer is closed; one that closes the pacer. Edit: the version is not
/// checked.
#[test]
fn drawn_slots_end_with_a_close() {
    explore("drawn_slots_end_with_a_close", || {
        let (_, pacer, ..) = drawn();
        let other = spawn_with(&pacer, |pacer| pacer.is_closed().then(|| pacer.acquire()));
        pacer.close();
        assert!(other.join().unwrap().is_none_or(|after| after == Err(Ended::Closed)));
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// If another thread has reported a later reading than the one of the draw, drawn slots start with the later reading.
/// If the later reading was made after a change, the drawn slots must move with the change.
///
/// Threads: one that calls `try_acquire`; one that pauses the pacer for a second, resumes it and acquires a slot. Edit:
/// the reported reading is loaded after the version.
#[test]
fn drawn_slots_move_before_they_start_later() {
    explore_less(1, "drawn_slots_move_before_they_start_later", || {
        let (clock, pacer, recorded, _) = drawn();
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.pause();
        clock.set(at(SECOND + 2_000));
        pacer.resume();
        pacer.acquire().unwrap();
        match other.join().unwrap() {
            Ok(grant) => {
                assert_eq!(wait_ns(grant), 2_000 - recorded[usize::try_from(grant.slot()).unwrap()])
            }
            Err(refused) => assert_eq!(refused, Refused::Paused),
        }
    });
}

/// Returns a pacer of recorded arrivals that are all due. Three have started, and the third start has drawn two more.
fn drawn() -> (ManualClock, Pacer, [u64; 8], [Grant; 3]) {
    let (clock, builder) = manual("1/s");
    let recorded = [0, 1_000, 1_100, 1_200, 1_300, 1_400, 1_500, 1_600];
    let pacer = builder.arrivals(Arrivals::replay(move || recorded.map(span))).build();
    clock.advance(span(2_000));
    let first = [(); 3].map(|()| pacer.acquire().unwrap());
    (clock, pacer, recorded, first)
}

/// Threads: one that acquires a slot, for an arrival in an hour; one that raises the speed a thousandfold, tries to
/// acquire a slot too, and moves the clock forward. Edits: `wake_moved` wakes no sleeper; a replay does not end.
#[test]
fn a_replay_strands_no_caller() {
    explore("a_replay_strands_no_caller", || {
        let (clock, builder) = manual("1/s");
        let recorded = [0, loom_tests::HOUR];
        let pacer = builder.arrivals(Arrivals::replay(move || recorded.map(span))).build();
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, Pacer::acquire);
        pacer.set_rate("1k/s".parse().unwrap());
        let mine = pacer.try_acquire();
        assert!(matches!(mine, Err(Refused::NotUntil(_) | Refused::Finished)), "{mine:?}");
        clock.set(at(loom_tests::HOUR / 1_000));
        assert_eq!(intended_ns(other.join().unwrap().unwrap()), loom_tests::HOUR / 1_000);
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
    });
}
