//! Models of watches: tasks that wait by timers of their own learn of every change.

#![cfg(loom)]

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom_tests::{MILLI, SECOND};
use loom_tests::{at, explore, manual, rate, spawn};
use nanopace::{Claim, Grant, Pacer, Refused};
use std::sync::Arc;
use std::task::{Wake, Waker};

const HOUR: u64 = 3_600 * SECOND;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        // Relaxed: read after the threads have been joined.
        self.0.store(true, Relaxed);
    }
}

/// A task that asks for a slot while another thread does something to the pacer: what it was told,
/// and whether it has been woken by the end.
fn beside(pacer: Pacer, change: impl FnOnce(Pacer)) -> (Result<Grant, Refused>, bool) {
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    let task = spawn({
        let pacer = pacer.clone();
        move || {
            let watch = pacer.watch();
            watch.set(&waker);
            let told = pacer.try_acquire();
            (watch, told)
        }
    });
    change(pacer);
    let (_watch, told) = task.join().unwrap();
    (told, flag.0.load(Relaxed))
}

/// A task that has been told the old time is woken by the change.
///
/// Threads: one that sets its watch and asks for a slot that is due in an hour; one that sets the
/// rate to 1000/s. Edits: `wake_moved` wakes nobody, or before it has withdrawn what was published;
/// tasks that watch are left out.
#[test]
fn a_change_reaches_every_watch() {
    explore("a_change_reaches_every_watch", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let (told, woken) = beside(pacer, |pacer| pacer.set_rate(rate("1k/s")));
        match told {
            Err(Refused::NotUntil(due)) if due == at(HOUR) => assert!(woken),
            told => assert_eq!(told, Err(Refused::NotUntil(at(MILLI)))),
        }
    });
}

/// A task that has not been told that the pacer is closed is woken by that.
///
/// Threads: one that sets its watch and asks for a slot that is due in an hour; one that closes.
/// Edits: `close` wakes nobody; tasks that watch are left out.
#[test]
fn a_close_reaches_every_watch() {
    explore("a_close_reaches_every_watch", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let (told, woken) = beside(pacer, |pacer| pacer.close());
        assert!(woken || told == Err(Refused::Closed), "{told:?}");
    });
}

/// A task that has been told when a later slot is due is woken when an earlier one comes back.
///
/// Threads: one that sets its watch and asks for a slot; one that drops its claim of the slot
/// before. Edits: tasks that watch are left out when the latest claim is taken back.
#[test]
fn a_slot_that_comes_back_reaches_every_watch() {
    explore("a_slot_that_comes_back_reaches_every_watch", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.build();
        pacer.acquire().unwrap();
        let claim = pacer.claim().unwrap().into_owned();
        let (told, woken) = beside(pacer, |_| drop(claim));
        match told {
            Err(Refused::NotUntil(due)) if due == at(2 * HOUR) => assert!(woken),
            told => assert_eq!(told, Err(Refused::NotUntil(at(HOUR)))),
        }
    });
}

/// A task that has been told when the last slot is due is woken when another caller takes it.
///
/// Threads: one that sets its watch and asks for a slot; one that claims the last one. Edits: tasks
/// are not told of the end; a claim without the lock is not looked at.
#[test]
fn the_last_claim_reaches_every_watch() {
    explore("the_last_claim_reaches_every_watch", || {
        let (_clock, builder) = manual("1/h");
        let pacer = builder.slots(2).build();
        pacer.acquire().unwrap();
        let mut claim = None;
        let (told, woken) =
            beside(pacer, |pacer| claim = pacer.claim().map(Claim::into_owned).ok());
        match told {
            Err(Refused::NotUntil(due)) if due == at(HOUR) => assert!(woken),
            told => assert_eq!(told, Err(Refused::Finished)),
        }
    });
}
