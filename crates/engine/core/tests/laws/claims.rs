//! Tests claims whose callers first pause until the slot is due, and then start it in a separate step.

use crate::common::{MILLI, PAUSES, SECOND, at, build, finish, rate, span, strictness, until};
use nanopace::{ManualClock, Refused};
use std::thread;
use std::time::Duration;

#[test]
fn a_pause_ends_when_the_slot_is_due_and_starts_nothing() {
    for (pause, number) in PAUSES.into_iter().flat_map(|it| [0.0, 0.5, 1.0, 1.1].map(|n| (it, n))) {
        for slice in [30 * MILLI, 100 * MILLI, 1 << 62] {
            let clock = ManualClock::jumping();
            let pacer = build("10/s", &clock).strictness(strictness(number)).pause(pause).build();
            pacer.acquire().expect("open");
            let mut claim = pacer.claim_many(3).expect("open");
            while pacer.now() < at(100 * MILLI) {
                assert_eq!(claim.start(), Err(Refused::NotUntil(at(100 * MILLI))));
                let now = pacer.now();
                claim.pause_for(span(slice));
                assert_eq!(pacer.now(), at(100 * MILLI).min(now + span(slice)), "{pause}");
            }
            claim.pause_for(span(slice)); // returns at once, because the slot is due
            assert_eq!(pacer.now(), at(100 * MILLI));
            drop(claim);
            assert_eq!(pacer.ledger().granted, 1);
            assert_eq!(pacer.acquire().expect("it went back").slot(), 1);
        }
    }
}

#[test]
fn changes_reach_callers_that_pause() {
    for pause in PAUSES {
        let clock = ManualClock::new();
        let pacer = build("1/h", &clock).pause(pause).start_paused().build();
        let mut claim = pacer.claim().expect("open").into_owned();
        let pausing = thread::spawn(move || {
            while claim.start() == Err(Refused::Paused) {
                claim.pause_for(Duration::MAX);
            }
            claim.start()
        });
        pacer.resume();
        let started = finish("resume", vec![pausing], || ()).remove(0);
        assert_eq!(started.expect("due").slot(), 0);

        let mut claim = pacer.claim().expect("open").into_owned();
        let pausing = thread::spawn(move || {
            claim.pause_for(Duration::MAX);
            claim
        });
        clock.advance(span(SECOND));
        pacer.set_rate(rate("1M/s"));
        until("end the pause", || pausing.is_finished(), || clock.advance(span(MILLI)));
        let mut claim = pausing.join().expect("no panic");
        assert_eq!(claim.start().expect("due").slot(), 1);
        claim.pause_for(Duration::MAX); // returns at once, because the slot has started

        // This part uses a new pacer, because further slots of the earlier pacer may be due.
        let pacer = build("1/d", &clock).pause(pause).build();
        pacer.acquire().expect("due");
        let mut claim = pacer.claim().expect("open").into_owned();
        let pausing = thread::spawn(move || {
            claim.pause_for(Duration::MAX);
            claim.start()
        });
        pacer.close();
        let refused = finish("close", vec![pausing], || ()).remove(0);
        assert_eq!(refused, Err(Refused::Closed), "{pause}");
    }
}
