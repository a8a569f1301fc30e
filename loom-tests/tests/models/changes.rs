//! Models of changes to a running schedule: changes of the rate and the strictness, pause, resume, close.

use loom_tests::{
    MICRO, MILLI, SECOND, Watched, assert_balanced, at, drain, explore, explore_less, intended_ns,
    manual, paced, rate, slots, span, spawn, spawn_with, wait_ns,
};
use nanopace::{Ended, Nanos, Pacer, Refused};
use std::time::Duration;

/// Threads: one that reads the due time of a slot twice; one that changes the rate. The two rates differ in mantissa
/// and shift, and their pieces in their anchors. Edits: a load of `Hot::stretch`, a store of `Hot::store`, or a load or
/// store of the version is `Relaxed`; `withdraw` does not set `BUSY`; `snapshot` does not check the version a second
/// time, or does not check for a writer.
#[test]
fn a_snapshot_is_read_whole() {
    // At 1.5 s, half of the interval before slot 2 is left. Half an interval at 3/s takes 1/6 s.
    let new = at(1_666_666_667);
    explore("a_snapshot_is_read_whole", move || snapshot_is_read_whole("1/s", "3/s", new));
}

/// Threads: as in `a_snapshot_is_read_whole`. The two rates differ in mantissa, and have the same shift; neither piece
/// is the first one, which has its own flag. Edit: `write` does not raise the version.
#[test]
fn a_snapshot_of_like_rates_is_read_whole() {
    let new = at(1_833_333_334);
    let model = move || snapshot_is_read_whole("2/s", "90/min", new);
    explore("a_snapshot_of_like_rates_is_read_whole", model);
}

/// Reads the due time of slot 2 twice, while the rate changes at 1.5 s from 1/s to `other`. After the change, slot 2 is
/// due at `new`. The schedule begins with the rate `first`, which is replaced before any slot is claimed.
fn snapshot_is_read_whole(first: &str, other: &str, new: Nanos) {
    let (clock, pacer) = paced(first);
    pacer.set_rate(rate("1/s"));
    clock.advance(span(SECOND / 2));
    let [_first, _second, third] = [(); 3].map(|()| pacer.claim().unwrap().into_owned());
    let reader = spawn(move || {
        let seen = [(); 2].map(|()| third.due().unwrap());
        (third, seen)
    });
    clock.advance(span(SECOND));
    pacer.set_rate(rate(other));
    let (third, seen) = reader.join().unwrap();
    let old = at(2 * SECOND);
    assert!([[old, old], [old, new], [new, new]].contains(&seen), "{seen:?}");
    assert_eq!(third.due(), Ok(new));
}

/// Threads: one that acquires a slot, one that sets the rate to one per second and moves the clock forward by 10 us,
/// ten intervals of the old rate. Three slots are due. Edit: `index_of` uses the new piece for slots that were due
/// before it.
#[test]
fn a_rate_change_loses_no_slot() {
    explore_less(1, "a_rate_change_loses_no_slot", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(2_500));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        pacer.set_rate(rate("1/s"));
        clock.advance(span(10 * MICRO));
        let other = other.join().unwrap();
        assert_eq!(slots(drain(&pacer).into_iter().chain([other])), [0, MICRO, 2 * MICRO]);
        assert_eq!(pacer.ledger().granted, 3);
        assert_balanced(&pacer);
    });
}

/// Threads: one that starts its claim of a slot that is due in half a microsecond; one that sets the rate from 1M/s to
/// one per second and moves the clock forward by 10 us. Edits: `reading` does not check the version again after it
/// reads the clock; the store or the load of the clock is `Relaxed`.
#[test]
fn nothing_bursts_at_the_old_speed() {
    explore("nothing_bursts_at_the_old_speed", || {
        let (clock, pacer) = paced("1M/s");
        pacer.acquire().unwrap();
        clock.advance(span(MICRO / 2));
        let mut claim = pacer.claim().unwrap().into_owned();
        let other = spawn(move || {
            let start = claim.start();
            (claim, start)
        });
        pacer.set_rate(rate("1/s"));
        clock.advance(span(10 * MICRO));
        let (mut claim, start) = other.join().unwrap();
        assert!(matches!(start, Err(Refused::NotUntil(_))));
        assert!(matches!(claim.start(), Err(Refused::NotUntil(_))));
    });
}

/// Threads: one that sleeps for a slot that is due in 0.5 us; one that sets the rate from 1M/s to 1/s and moves the
/// clock forward, by 10 us and then by 2 s. Edit: a sleeper starts by its plan although the version has changed.
#[test]
fn no_sleeper_starts_at_the_old_speed() {
    explore("no_sleeper_starts_at_the_old_speed", || {
        let clock = Watched::default();
        let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
        pacer.acquire().unwrap();
        clock.manual.advance(span(MICRO / 2));
        let other = spawn_with(&pacer, |pacer| pacer.acquire().unwrap());
        clock.wait_for(Watched::slept, 1);
        pacer.set_rate(rate("1/s"));
        clock.manual.advance(span(10 * MICRO));
        clock.manual.advance(span(2 * SECOND));
        let grant = other.join().unwrap();
        assert!(grant.actual_start().as_nanos() > SECOND / 2, "{grant:?}");
        assert!(grant.actual_start() >= grant.intended_start());
    });
}

/// Threads: one that acquires slots 1 and 2 under the lock, as one operation that is due in an hour; one that sets the
/// rate to 1000/s and moves the clock forward by 1 ms. Edits: `wake_moved` wakes no sleeper, or wakes sleepers before
/// it has withdrawn the published state; `enter` does not check whether the plan is current; the manual clock does not
/// check the time again before it registers a sleeper.
#[test]
fn no_wake_up_is_lost() {
    explore("no_wake_up_is_lost", || {
        let (clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        pacer.set_rate(rate("1k/s"));
        clock.advance(span(MILLI));
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (MILLI, 0));
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// Threads: one that claims a slot due in an hour, and repeatedly pauses and tries to start it; one that sets the rate
/// to 1000/s and moves the clock forward by 1 ms. Edit: `wake_moved` wakes no sleeper.
#[test]
fn no_wake_up_of_a_pause_is_lost() {
    explore("no_wake_up_of_a_pause_is_lost", || {
        let (clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let other = spawn({
            let mut claim = pacer.claim().unwrap().into_owned();
            move || loop {
                match claim.start() {
                    Ok(grant) => break grant,
                    Err(_) => claim.pause_for(Duration::MAX),
                }
            }
        });
        pacer.set_rate(rate("1k/s"));
        clock.advance(span(MILLI));
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (MILLI, 0));
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// Threads: two that acquire slots due in one hour and in two hours; one that sets the rate to 1000/s as soon as both
/// sleep, and moves the clock forward by 2 ms. Edits: `wake_moved` wakes no sleeper; `leave` does not pass the wake-up
/// on.
#[test]
fn a_change_reaches_every_sleeper() {
    explore("a_change_reaches_every_sleeper", || {
        let clock = Watched::default();
        let pacer = Pacer::builder(rate("1/h")).clock(clock.clone()).build();
        pacer.acquire().unwrap();
        let sleepers = [(); 2].map(|()| spawn_with(&pacer, |pacer| pacer.acquire().unwrap()));
        clock.wait_for(Watched::slept, 2);
        pacer.set_rate(rate("1k/s"));
        clock.manual.advance(span(2 * MILLI));
        let grants = sleepers.map(|sleeper| sleeper.join().unwrap());
        assert_eq!(slots(grants), [MILLI, 2 * MILLI]);
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// Threads: one that acquires a slot that is due in one second, with a deadline in two seconds; one that sets the rate
/// to one per hour. Edits: `wake_moved` wakes no sleeper, or wakes sleepers before it has withdrawn the published
/// state.
#[test]
fn a_deadline_out_of_reach_ends_the_sleep() {
    explore("a_deadline_out_of_reach_ends_the_sleep", || {
        let (_clock, pacer) = paced("1/s");
        pacer.acquire().unwrap();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_deadline(at(2 * SECOND)));
        pacer.set_rate(rate("1/h"));
        assert_eq!(other.join().unwrap(), Err(Refused::NotUntil(at(3_600 * SECOND))));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that calls `try_acquire` for a slot that is due; one that pauses the pacer, calls `try_acquire` twice,
/// and resumes the pacer. Edit: `write` does not publish that callers need the lock.
#[test]
fn nothing_starts_while_paused() {
    explore_less(1, "nothing_starts_while_paused", || {
        let (clock, pacer) = paced("1M/s");
        pacer.acquire().unwrap();
        clock.advance(span(3 * MICRO));
        let other = spawn_with(&pacer, Pacer::try_acquire);
        pacer.pause();
        for _ in 0..2 {
            assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
        }
        pacer.resume();
        let other = other.join().unwrap();
        assert!(other.is_ok() || other == Err(Refused::Paused), "{other:?}");
        let grants = drain(&pacer).into_iter().chain(other.ok());
        assert_eq!(slots(grants), [MICRO, 2 * MICRO, 3 * MICRO]);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires slots 0 and 1 as one operation; one that ends the pause after a second. The operation's
/// intended start is half a microsecond before the pause. Edits: `wake_moved` wakes no sleeper; `resume` moves the
/// pieces by less than the length of the pause.
#[test]
fn a_pause_makes_no_slot_later() {
    explore("a_pause_makes_no_slot_later", || {
        let (clock, pacer) = paced("1M/s");
        clock.advance(span(MICRO / 2));
        pacer.pause();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        clock.advance(span(SECOND));
        pacer.resume();
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (SECOND, MICRO / 2));
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires two slots as one operation, one that resumes the pacer. Edits: `wake_moved` wakes no
/// sleeper; `enter` does not check whether the plan is current.
#[test]
fn a_start_reaches_everyone() {
    explore("a_start_reaches_everyone", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.start_paused().build();
        let other = spawn_with(&pacer, |pacer| pacer.acquire_many(2).unwrap());
        pacer.resume();
        assert_eq!(intended_ns(other.join().unwrap()), 0);
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// Threads: one that acquires a slot due in an hour, one that closes the pacer. Edits: `close` wakes no caller; `enter`
/// does not check whether the plan is current; `refuse_if_closed` keeps the slot, or refuses no caller.
#[test]
fn close_strands_no_caller() {
    explore("close_strands_no_caller", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let sleeper = spawn_with(&pacer, |pacer| pacer.acquire().map(drop));
        pacer.close();
        assert_eq!(sleeper.join().unwrap(), Err(Ended::Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot due in an hour, with a deadline; one that closes the pacer. Edits: `close` wakes
/// no caller; `refuse_if_closed` keeps the slot.
#[test]
fn close_strands_no_caller_with_a_deadline() {
    explore("close_strands_no_caller_with_a_deadline", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let sleeper =
            spawn_with(&pacer, |pacer| pacer.acquire_deadline(at(10_000 * SECOND)).map(drop));
        pacer.close();
        assert_eq!(sleeper.join().unwrap(), Err(Refused::Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Threads: one that acquires a slot that is due, with a deadline; one that closes the pacer. Edit: `refuse_if_closed`
/// refuses no caller.
#[test]
fn closed_out_has_taken_nothing() {
    explore("closed_out_has_taken_nothing", || {
        let (clock, pacer) = paced("1/s");
        pacer.acquire().unwrap();
        clock.advance(span(SECOND));
        let other =
            spawn_with(&pacer, |pacer| u64::from(pacer.acquire_deadline(at(SECOND)).is_ok()));
        pacer.close();
        let started = other.join().unwrap();
        assert_eq!(pacer.ledger().granted, 1 + started);
        assert_eq!(pacer.acquire(), Err(Ended::Closed));
        assert_balanced(&pacer);
    });
}
