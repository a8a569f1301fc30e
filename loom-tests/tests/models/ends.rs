//! Models of the end of a schedule. All callers must notice the end, and no caller may hang when the schedule
//! continues.

use loom_tests::{
    Acquired, HOUR, MICRO, MILLI, SECOND, Watched, acquire_during, assert_balanced, at, drain,
    explore, explore_less, paced, paced_by_shape, rate, shape, slots, span, spawn_with,
};
use nanopace::{Ended, Pacer, Refused};

/// Threads: two that each acquire a slot; one that moves the clock past the end. There is one slot left. Edit: the
/// schedule ignores the end of its shape.
#[test]
fn the_end_of_a_shape_strands_no_caller() {
    explore_less(1, "the_end_of_a_shape_strands_no_caller", || {
        let (clock, pacer) = paced_by_shape("hold 1M/s 2us");
        pacer.acquire().unwrap();
        let others = [(); 2].map(|()| spawn_with(&pacer, Pacer::acquire));
        clock.advance(span(5 * MICRO));
        let told = others.map(|other| other.join().unwrap());
        assert_eq!(slots(told.into_iter().flatten()), [MICRO]);
        assert!(told.contains(&Err(Ended::Finished)));
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
    });
}

/// Threads: one that sets its watch and tries to acquire a slot that is due in an hour; one that claims this slot.
/// Edit: tasks are not woken at the end.
#[test]
fn the_end_of_a_shape_reaches_every_watch() {
    explore("the_end_of_a_shape_reaches_every_watch", || {
        let (_clock, pacer) = paced_by_shape("hold 1/h 2h");
        pacer.acquire().unwrap();
        let mut claim = None;
        let Acquired { result, woken } = acquire_during(&pacer, || claim = pacer.claim().ok());
        match result {
            Err(Refused::NotUntil(due)) if due == at(HOUR) => assert!(woken),
            result => assert_eq!(result, Err(Refused::Finished)),
        }
    });
}

/// Threads: two that sleep, for slots due in one hour and in two hours; one that sets a shape that ends at once. Edits:
/// `wake_moved` wakes no sleeper, or does not check the end; a change of the load keeps the old end; slots claimed
/// after the end are not given back.
#[test]
fn an_earlier_end_reaches_every_sleeper() {
    explore_less(1, "an_earlier_end_reaches_every_sleeper", || {
        let clock = Watched::default();
        let pacer = Pacer::builder(rate("1/h")).clock(clock.clone()).build();
        pacer.acquire().unwrap();
        let sleepers = [(); 2].map(|()| spawn_with(&pacer, Pacer::acquire));
        clock.wait_for(Watched::slept, 2);
        pacer.set_shape(shape("hold 1/h 1ms"));
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Err(Ended::Finished));
        }
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot due in an hour; one that pauses the pacer and sets a shape that ends at once.
/// Edit: `wake_moved` wakes no sleeper while the pacer is paused.
#[test]
fn an_earlier_end_reaches_sleepers_during_a_pause() {
    explore("an_earlier_end_reaches_sleepers_during_a_pause", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let sleeper = spawn_with(&pacer, Pacer::acquire);
        pacer.pause();
        pacer.set_shape(shape("hold 1/h 1ms"));
        assert_eq!(sleeper.join().unwrap(), Err(Ended::Finished));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot, one that sets a rate and moves the clock forward by two slots. Edit: a change of
/// the load keeps the old end.
#[test]
fn a_schedule_that_goes_on_loses_no_slot() {
    explore_less(1, "a_schedule_that_goes_on_loses_no_slot", || {
        let (clock, pacer) = paced_by_shape("hold 1M/s 1us");
        pacer.acquire().unwrap();
        clock.advance(span(5 * MICRO));
        let other = spawn_with(&pacer, Pacer::acquire);
        pacer.set_rate(rate("1M/s"));
        // The next two slots are due at 5001 ns and at 6001 ns.
        clock.advance(span(2 * MICRO));
        let other = other.join().unwrap();
        assert!(other.is_ok() || other == Err(Ended::Finished), "{other:?}");
        let grants = drain(&pacer).into_iter().chain(other.ok());
        assert_eq!(slots(grants), [5_001, 6_001]);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot due in an hour; one that sets a shape that ends at once, then sets a shape that
/// has slots, and moves the clock forward. Edits: `wake_moved` wakes no sleeper; slots claimed after the end are not
/// given back.
#[test]
fn an_end_that_is_taken_back_strands_no_caller() {
    explore_less(1, "an_end_that_is_taken_back_strands_no_caller", || {
        let (clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let sleeper = spawn_with(&pacer, Pacer::acquire);
        pacer.set_shape(shape("hold 1/h 1ms"));
        pacer.set_shape(shape("hold 1k/s 2ms"));
        clock.advance(span(SECOND));
        let other = sleeper.join().unwrap();
        assert!(other.is_ok() || other == Err(Ended::Finished), "{other:?}");
        let grants = drain(&pacer).into_iter().chain(other.ok());
        assert_eq!(slots(grants), [MILLI]);
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
        assert_balanced(&pacer);
    });
}

/// Threads: one that sets its watch and tries to acquire a slot; one that sets a rate. Edit: `wake_moved` wakes no
/// sleeper.
#[test]
fn a_schedule_that_goes_on_reaches_every_watch() {
    explore("a_schedule_that_goes_on_reaches_every_watch", || {
        let (clock, pacer) = paced_by_shape("hold 1/h 1h");
        pacer.acquire().unwrap();
        clock.advance(span(2 * HOUR));
        // The end has woken the tasks that had set their watch before.
        assert_eq!(pacer.acquire(), Err(Ended::Finished));
        let Acquired { result, woken } = acquire_during(&pacer, || pacer.set_rate(rate("1/h")));
        assert!(woken || result != Err(Refused::Finished), "{result:?}");
    });
}
