//! Models of changes to a running schedule: of rate and strictness, pause, resume, close.

#![cfg(loom)]

use loom_tests::{
    MICRO, MILLI, SECOND, Watched, assert_balanced, at, drain, explore, intended_ns, manual, rate, slots,
    span, spawn, wait_ns,
};
use nanopace::{Closed, Pacer, Refused};

/// A reader sees the old line or the new one, never a mixture.
///
/// Threads: one that changes the rate, one that asks twice when a slot is due. The two rates are so close that the gate
/// differs by its generation only.
/// Edits: any of `view`'s loads of the gate, time, position, mantissa `Relaxed`; or any of `write`'s stores of them; `write`
/// without `BUSY`; or without a new generation.
#[test]
fn face_is_read_whole() {
    explore("face_is_read_whole", || {
        let (clock, builder) = manual("1/s");
        let pacer = builder.build();
        clock.advance(span(SECOND / 2));
        let claims = [(); 3].map(|()| pacer.claim().unwrap());
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                clock.advance(span(SECOND));
                pacer.set_rate(rate("1.25/s"));
            }
        });
        let seen = [(); 2].map(|()| claims[2].due().unwrap());
        other.join().unwrap();
        // Slot 2: at 2 s; or, of the interval from 1 s to 2 s, the half that is left at 1.5 s takes 400 ms.
        let (old, new) = (at(2 * SECOND), at(1_900 * MILLI));
        assert!([[old, old], [old, new], [new, new]].contains(&seen), "{seen:?}");
        assert_eq!(claims[2].due(), Ok(new));
    });
}

/// The intended start of a slot that was due stays what it was, whoever asks during a change of the rate.
///
/// Threads: one that changes the rate, one that asks a grant which borrows the pacer.
/// Edits: `view` without the second look at the gate; or without a look whether somebody writes; `tells` says yes to everything.
#[test]
fn intended_starts_survive_a_rate_change() {
    explore("intended_starts_survive_a_rate_change", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(5 * MICRO / 2));
        // Slot 1 shows slot 2 to be due: that grant leaves its intended start to whoever asks.
        let grants = [(); 3].map(|()| pacer.acquire().unwrap());
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.set_rate(rate("1k/s"))
        });
        assert_eq!(grants.map(intended_ns), [0, MICRO, 2 * MICRO]);
        other.join().unwrap();
        assert_eq!(grants.map(intended_ns), [0, MICRO, 2 * MICRO]);
    });
}

/// A change of the rate among claimers hands out what was due before it, each slot once, and nothing more.
///
/// Threads: one that acquires, one that sets the rate to one per second, acquires, and moves the clock on by 10 us, ten
/// intervals of the old rate. Three slots are due.
/// Edits: `append` lets the new line speak for slots that were due before it; `add` as a load and a store.
#[test]
fn a_rate_change_loses_no_slot() {
    explore("a_rate_change_loses_no_slot", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(2_500));
        let other = spawn({
            let pacer = pacer.clone();
            move || {
                pacer.set_rate(rate("1/s"));
                let grant = pacer.acquire().unwrap().settled();
                clock.advance(span(10 * MICRO));
                grant
            }
        });
        let mine = pacer.acquire().unwrap().settled();
        let other = other.join().unwrap();
        assert_eq!(slots(drain(&pacer).into_iter().chain([mine, other])), [0, MICRO, 2 * MICRO]);
        assert_eq!(pacer.ledger().granted, 3);
        assert_balanced(&pacer);
    });
}

/// Nothing starts at the old speed on a clock that was read after the change.
///
/// Threads: one that sets the rate from 1M/s to one per second and moves the clock on by 10 us; one that starts its
/// claim of a slot that was due in half a microsecond.
/// Edits: `plan` does not look at the gate again after reading the clock; the clock's store or load `Relaxed`.
#[test]
fn nothing_bursts_at_the_old_speed() {
    explore("nothing_bursts_at_the_old_speed", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        clock.advance(span(MICRO / 2));
        let mut claim = pacer.claim().unwrap();
        let other = spawn({
            let (pacer, clock) = (pacer.clone(), clock.clone());
            move || {
                pacer.set_rate(rate("1/s"));
                clock.advance(span(10 * MICRO));
            }
        });
        assert!(matches!(claim.start(), Err(Refused::NotUntil(_))));
        other.join().unwrap();
        assert!(matches!(claim.start(), Err(Refused::NotUntil(_))));
    });
}

/// Nor does who was asleep when the rate changed.
///
/// Threads: one that acquires a slot that is due in half a microsecond; one that sets the rate from 1M/s to one per second and
/// moves the clock on, by 10 us and then by 2 s.
/// Edits: a sleeper holds on to its plan although the gate has changed.
#[test]
fn nobody_asleep_starts_at_the_old_speed() {
    explore("nobody_asleep_starts_at_the_old_speed", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        clock.advance(span(MICRO / 2));
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        pacer.set_rate(rate("1/s"));
        clock.advance(span(10 * MICRO));
        clock.advance(span(2 * SECOND));
        let grant = other.join().unwrap();
        assert!(grant.actual_start().as_nanos() > SECOND / 2, "{grant:?}");
        assert!(grant.actual_start() >= grant.intended_start());
    });
}

/// A change of the rate reaches a caller who sleeps, or is about to.
///
/// Threads: one that acquires a slot due in an hour, one that sets the rate to 1000/s and moves the clock on by 1 ms.
/// Edits: `change` wakes nobody; or before it has published; `enter` does not look whether the plan is current;
/// the manual clock does not look at the time again before it enters a sleeper.
#[test]
fn no_wake_up_is_lost() {
    explore("no_wake_up_is_lost", || {
        let (clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        pacer.set_rate(rate("1k/s"));
        clock.advance(span(MILLI));
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (MILLI, 0));
        assert_eq!(pacer.ledger().granted, 2);
    });
}

/// A change of the rate reaches everyone who sleeps.
///
/// Threads: two that acquire slots due in one hour and in two; one that sets the rate to 1000/s as soon as both sleep, and
/// moves the clock on by 2 ms.
/// Edit: `wake_all` wakes the first only.
#[test]
fn a_change_reaches_every_sleeper() {
    explore("a_change_reaches_every_sleeper", || {
        let clock = Watched::default();
        let pacer = Pacer::builder(rate("1/h")).clock(clock.clone()).build();
        pacer.acquire().unwrap();
        let sleepers = [(); 2].map(|()| {
            let pacer = pacer.clone();
            spawn(move || pacer.acquire().unwrap().settled())
        });
        clock.wait_for(Watched::slept, 2);
        pacer.set_rate(rate("1k/s"));
        clock.manual.advance(span(2 * MILLI));
        let grants = sleepers.map(|sleeper| sleeper.join().unwrap());
        assert_eq!(slots(grants), [MILLI, 2 * MILLI]);
        assert_eq!(pacer.ledger().granted, 3);
    });
}

/// A change of the rate that puts a deadline out of reach ends the sleep at once, and nothing is taken.
///
/// Threads: one that acquires by a deadline in two seconds a slot due in one; one that sets the rate to one per hour.
/// Edit: `change` wakes nobody.
#[test]
fn a_deadline_out_of_reach_ends_the_sleep() {
    explore("a_deadline_out_of_reach_ends_the_sleep", || {
        let (_clock, builder) = manual("1/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire_deadline(at(2 * SECOND))
        });
        pacer.set_rate(rate("1/h"));
        assert_eq!(other.join().unwrap(), Err(Refused::NotUntil(at(3_600 * SECOND))));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// While the pacer is paused nothing is taken, even while someone from before the pause reports how late it is.
///
/// Threads: one that claims a slot that is due, one that pauses and tries to; then the schedule goes on.
/// Edits: `extend` does not look at the state it extends; or extends by a store; `publish` leaves the horizon ahead.
#[test]
fn nothing_starts_while_paused() {
    explore("nothing_starts_while_paused", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        clock.advance(span(3 * MICRO));
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.claim().unwrap()
        });
        pacer.pause();
        assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
        let mut claim = other.join().unwrap();
        assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
        assert_eq!(claim.start(), Err(Refused::Paused));
        pacer.resume();
        assert_eq!(slots([claim.start().unwrap()]), [MICRO]);
        assert_eq!(slots(drain(&pacer)), [2 * MICRO, 3 * MICRO]);
        assert_eq!(pacer.ledger().granted, 4);
        assert_balanced(&pacer);
    });
}

/// A pause moves what has not started by its length, so that it is as late as it was; whoever comes or sleeps while it
/// lasts starts when it ends.
///
/// Threads: one that acquires slot 0, overdue by half a microsecond when the pause began; one that ends the pause after
/// a second.
/// Edits: `change` wakes nobody; `resume` moves the lines by less than the pause; `enter` moves the horizon `Relaxed`, or before `seen`.
#[test]
fn a_pause_is_nobodys_lateness() {
    explore("a_pause_is_nobodys_lateness", || {
        let (clock, builder) = manual("1M/s");
        let pacer = builder.build();
        clock.advance(span(MICRO / 2));
        pacer.pause();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        clock.advance(span(SECOND));
        pacer.resume();
        let grant = other.join().unwrap();
        assert_eq!((intended_ns(grant), wait_ns(grant)), (SECOND, MICRO / 2));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// A pacer that is resumed for the first time starts everyone who waits for it.
///
/// Threads: two, one that acquires, one that resumes.
/// Edit: `change` wakes nobody.
#[test]
fn a_start_reaches_everyone() {
    explore("a_start_reaches_everyone", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.start_paused().build();
        let other = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().unwrap().settled()
        });
        pacer.resume();
        assert_eq!(intended_ns(other.join().unwrap()), 0);
        assert_eq!(pacer.ledger().granted, 1);
    });
}

/// Closing ends every sleep, also one that has not begun; and what the sleeper had taken goes back.
///
/// Threads: one that acquires a slot due in an hour, one that closes.
/// Edits: `close` wakes nobody; `enter` does not look whether the plan is current; `pace` keeps the turn; `judge` does not look
/// whether it is closed.
#[test]
fn close_strands_nobody() {
    explore("close_strands_nobody", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let sleeper = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire().map(drop)
        });
        pacer.close();
        assert_eq!(sleeper.join().unwrap(), Err(Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// Closing ends the sleep of whoever has a deadline, too.
///
/// Threads: one that acquires by a deadline a slot due in an hour, one that closes.
/// Edit: `close` wakes nobody.
#[test]
fn close_strands_nobody_with_a_deadline() {
    explore("close_strands_nobody_with_a_deadline", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let sleeper = spawn({
            let pacer = pacer.clone();
            move || pacer.acquire_deadline(at(10_000 * SECOND)).map(drop)
        });
        pacer.close();
        assert_eq!(sleeper.join().unwrap(), Err(Refused::Closed));
        assert_eq!(pacer.ledger().granted, 1);
        assert_balanced(&pacer);
    });
}

/// A caller whom a close turns away has taken nothing, wherever on its way the close finds it.
///
/// Threads: one that acquires by a deadline a slot that is due, one that closes.
/// Edit: `start_by` keeps the slot when it is closed after it was taken.
#[test]
fn closed_out_has_taken_nothing() {
    explore("closed_out_has_taken_nothing", || {
        let (clock, builder) = manual("1/s");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        clock.advance(span(SECOND));
        let other = spawn({
            let pacer = pacer.clone();
            move || u64::from(pacer.acquire_deadline(at(SECOND)).is_ok())
        });
        pacer.close();
        let started = other.join().unwrap();
        assert_eq!(pacer.ledger().granted, 1 + started);
        assert_eq!(pacer.acquire(), Err(Closed));
        assert_balanced(&pacer);
    });
}
