//! Models of watches. Every change must wake the tasks that wait with their own timers.

use loom_tests::{Acquired, HOUR, MILLI, acquire_during, at, explore, manual, paced, rate};
use nanopace::Refused;

/// Threads: one that sets its watch and tries to acquire a slot that is due in an hour; one that sets the rate to
/// 1000/s. Edits: `wake_moved` wakes no sleeper, or wakes tasks before it has withdrawn the published state; tasks that
/// watch are not woken.
#[test]
fn a_change_reaches_every_watch() {
    explore("a_change_reaches_every_watch", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let Acquired { result, woken } = acquire_during(&pacer, || pacer.set_rate(rate("1k/s")));
        match result {
            Err(Refused::NotUntil(due)) if due == at(HOUR) => assert!(woken),
            result => assert_eq!(result, Err(Refused::NotUntil(at(MILLI)))),
        }
    });
}

/// Threads: one that sets its watch and tries to acquire a slot that is due in an hour; one that closes the pacer.
/// Edits: `close` wakes no caller; tasks that watch are not woken.
#[test]
fn a_close_reaches_every_watch() {
    explore("a_close_reaches_every_watch", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let Acquired { result, woken } = acquire_during(&pacer, || pacer.close());
        assert!(woken || result == Err(Refused::Closed), "{result:?}");
    });
}

/// Threads: one that sets its watch and tries to acquire a slot; one that drops its claim of the previous slot. Edit:
/// tasks that watch are not woken when the latest claim is taken back.
#[test]
fn a_slot_that_comes_back_reaches_every_watch() {
    explore("a_slot_that_comes_back_reaches_every_watch", || {
        let (_clock, pacer) = paced("1/h");
        pacer.acquire().unwrap();
        let claim = pacer.claim().unwrap().into_owned();
        let Acquired { result, woken } = acquire_during(&pacer, || drop(claim));
        match result {
            Err(Refused::NotUntil(due)) if due == at(2 * HOUR) => assert!(woken),
            result => assert_eq!(result, Err(Refused::NotUntil(at(HOUR)))),
        }
    });
}

/// Threads: one that sets its watch and tries to acquire a slot; one that claims the last slot. Edits: tasks are not
/// woken at the end; a claim that was made without the lock is not checked under the lock.
#[test]
fn the_last_claim_reaches_every_watch() {
    explore("the_last_claim_reaches_every_watch", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.slots(2).build();
        pacer.acquire().unwrap();
        let mut claim = None;
        let Acquired { result, woken } = acquire_during(&pacer, || claim = pacer.claim().ok());
        match result {
            Err(Refused::NotUntil(due)) if due == at(HOUR) => assert!(woken),
            result => assert_eq!(result, Err(Refused::Finished)),
        }
    });
}
