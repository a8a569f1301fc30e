//! Tests that a poller starts one slot at a time, keeps a slot that is not due, and loses no slot.

use crate::common::{
    MILLI, PAUSES, SECOND, assert_balanced, assert_started, at, build, drain, finish, intended_ns,
    paced, rate, span, strictness, until,
};
use nanopace::{Grant, ManualClock, PacerBuilder, Poller, Refused, Strictness};
use std::thread;
use std::time::Duration;

const POLICIES: [f64; 4] = [0.0, 0.5, 1.0, 1.1];

fn due_ns(polled: Result<Grant, Refused>) -> u64 {
    match polled {
        Err(Refused::NotUntil(due)) => due.as_nanos(),
        other => panic!("{other:?} where NotUntil was expected"),
    }
}

#[test]
fn it_starts_as_acquire_does() {
    for number in POLICIES {
        let clock = ManualClock::new();
        let pacer = build("10/s", &clock).strictness(strictness(number)).build();
        let jumping = ManualClock::jumping();
        let beside = build("10/s", &jumping).strictness(strictness(number)).build();
        let mut poller = pacer.poller();
        for slot in 0..50 {
            let grant = match poller.poll() {
                Err(Refused::NotUntil(due)) => {
                    clock.set(due);
                    poller.poll()
                }
                other => other,
            };
            assert_eq!(grant.expect("due"), beside.acquire().expect("open"), "{number}");
            let taken = span(slot % 7 * 40 * MILLI);
            clock.advance(taken);
            jumping.advance(taken);
        }
        poller.give_back();
        assert_eq!(pacer.ledger(), beside.ledger());
    }
}

#[test]
fn it_keeps_its_slot_while_others_come_and_go() {
    for number in POLICIES {
        let clock = ManualClock::new();
        let pacer = build("10/s", &clock).strictness(strictness(number)).build();
        let first = pacer.claim().expect("open");
        let mut poller = pacer.poller();
        assert_eq!(due_ns(poller.poll()), 100 * MILLI);
        drop(first); // gives back slot 0, which is due, so other callers get it
        assert_eq!(due_ns(poller.poll()), 100 * MILLI);
        pacer.pause();
        assert_eq!(poller.poll(), Err(Refused::Paused));
        assert_eq!(poller.wait_for(Duration::ZERO), Err(Refused::Paused));
        pacer.resume();
        assert_eq!(intended_ns(pacer.acquire().expect("open")), 0);
        pacer.set_rate(rate("20/s"));
        assert_eq!(due_ns(poller.poll()), 50 * MILLI);
        clock.set(at(60 * MILLI));
        assert_eq!(poller.poll().expect("due").slot(), 1);
        assert_eq!(pacer.ledger().granted, 2);
        assert_balanced(&pacer);
    }
}

#[test]
fn its_slot_comes_back() {
    for number in POLICIES {
        let clock = ManualClock::new();
        let pacer = build("10/s", &clock).strictness(strictness(number)).build();
        let mut pollers: Vec<Poller> = (0..10).map(|_| pacer.poller()).collect();
        assert!(pollers[0].poll().is_ok());
        pollers[1..].iter_mut().for_each(|poller| assert!(poller.poll().is_err()));
        pollers[3].give_back();
        pollers[3].give_back(); // has no effect, because the poller has no slot
        assert_eq!(pacer.ledger().granted, 9);
        pollers.truncate(5);
        assert_eq!(pacer.ledger().granted, 4); // slots 0, 1, 2 and 4
        clock.advance(span(400 * MILLI));
        assert_eq!(drain(&pacer).first().expect("due").slot(), 3);
    }
}

#[test]
fn after_the_end_it_goes_on_if_the_schedule_does() {
    let clock = ManualClock::jumping();
    let builder: PacerBuilder = "hold 10/s 1s".parse().expect("a shape");
    let pacer = builder.clock(clock.clone()).build();
    let (mut one, mut other) = (pacer.poller(), pacer.poller());
    for _ in 0..9 {
        one.wait_for(span(SECOND)).expect("a slot");
    }
    assert!(other.poll().is_err(), "the last slot, which is kept");
    assert_eq!(one.poll(), Err(Refused::Finished));
    assert_eq!(one.wait_for(span(SECOND)), Err(Refused::Finished));
    pacer.set_rate(rate("1/s"));
    assert!(one.wait_for(span(10 * SECOND)).is_ok());
    pacer.close();
    assert_eq!((one.poll(), other.poll()), (Err(Refused::Closed), Err(Refused::Closed)));
    assert_eq!(pacer.ledger().granted, 10);
}

#[test]
fn a_wait_in_slices_starts_as_one_in_one_go() {
    for pause in PAUSES {
        for slice in [1, 30 * MILLI, 100 * MILLI, 1 << 62] {
            let clock = ManualClock::jumping();
            let pacer = build("10/s", &clock).pause(pause).build();
            let mut poller = pacer.poller();
            for slot in 0..10 {
                // If slices are 1 ns long, the clock is first moved to 20 ns before the start, so that there are few
                // slices.
                if slice == 1 {
                    clock.set(at((slot * 100 * MILLI).saturating_sub(20)));
                }
                let grant = loop {
                    let now = pacer.now();
                    match poller.wait_for(span(slice)) {
                        Err(Refused::NotUntil(due)) => {
                            assert_eq!(due.as_nanos(), slot * 100 * MILLI);
                            assert_eq!(pacer.now(), now + span(slice), "{pause}");
                        }
                        other => break other.expect("open"),
                    }
                };
                assert_eq!(grant.slot(), slot);
                assert_eq!(grant.actual_start().as_nanos(), slot * 100 * MILLI, "{pause}");
            }
        }
    }
}

#[test]
fn a_wait_for_no_time_is_a_poll() {
    let clock = ManualClock::jumping();
    let pacer = build("10/s", &clock).build();
    let mut poller = pacer.poller();
    assert!(poller.wait_for(Duration::ZERO).is_ok());
    assert_eq!(due_ns(poller.wait_for(Duration::ZERO)), 100 * MILLI);
    assert_eq!(pacer.now().as_nanos(), 0);
}

/// The clock advances by much less than an hour, so only the change can end the wait.
#[test]
fn changes_reach_who_waits() {
    for pause in PAUSES {
        let clock = ManualClock::new();
        let pacer = build("1/h", &clock).pause(pause).build();
        pacer.acquire().expect("open");
        let mut poller = pacer.poller();
        assert!(poller.poll().is_err(), "in an hour");
        let wait = thread::spawn(move || poller.wait_for(Duration::MAX));
        clock.advance(span(SECOND));
        pacer.set_rate(rate("1M/s"));
        until("start", || wait.is_finished(), || clock.advance(span(MILLI)));
        assert_eq!(wait.join().expect("no panic").expect("open").slot(), 1);

        let mut poller = pacer.poller();
        pacer.set_rate(rate("1/d"));
        drain(&pacer);
        let wait = thread::spawn(move || poller.wait_for(Duration::MAX));
        pacer.close();
        let refused = finish("close", vec![wait], || ()).remove(0);
        assert_eq!(refused, Err(Refused::Closed), "{pause}");
    }
}

/// On a bent stretch, slots are claimed by a different function than on a straight stretch.
#[test]
fn it_starts_the_slots_of_a_curve() {
    let clock = ManualClock::new();
    let builder: PacerBuilder = "ramp 0/s..1M/s 1s".parse().expect("a shape");
    let pacer = builder.clock(clock.clone()).build();
    let mut poller = pacer.poller();
    let mut slots = Vec::new();
    while slots.len() < 500_000 {
        match poller.poll() {
            Ok(grant) => {
                assert_started(&pacer, grant);
                slots.push(grant.slot());
            }
            Err(Refused::NotUntil(_)) => clock.advance(span(20_000)),
            Err(refused) => panic!("{refused}"),
        }
    }
    assert!(slots.into_iter().eq(0..500_000));
    assert_eq!(poller.poll(), Err(Refused::Finished));
}

#[test]
fn every_slot_starts_once() {
    for strictness in [Strictness::AVERAGE, Strictness::STRICT] {
        let clock = ManualClock::jumping();
        let pacer = build("1M/s", &clock).strictness(strictness).slots(3_000).build();
        let caller = |seed: u64| {
            let (mut poller, mut slots, mut state) = (pacer.poller(), Vec::new(), seed);
            for _ in 0..10_000_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let result = match state >> 60 {
                    0..9 => poller.poll(),
                    9..13 => poller.wait_for(span(state >> 50 & 0xfff)),
                    _ => {
                        poller.give_back();
                        pacer.try_acquire()
                    }
                };
                match result {
                    Ok(grant) => {
                        assert_started(&pacer, grant);
                        slots.push(grant.slot());
                    }
                    Err(Refused::NotUntil(_)) => clock.advance(span(100)),
                    // Other pollers may give back their slots.
                    Err(Refused::Finished) if pacer.ledger().granted < 3_000 => {}
                    Err(_) => return slots,
                }
            }
            panic!("no progress");
        };
        let mut slots = thread::scope(|scope| {
            let seeds = [1_u64, 2, 3, 4].map(|seed| seed << 58 | seed << 20);
            let threads = seeds.map(|seed| scope.spawn(move || caller(seed)));
            threads.map(|thread| thread.join().expect("no panic")).concat()
        });
        slots.sort_unstable();
        assert_eq!(slots, (0..3_000).collect::<Vec<_>>());
        assert_balanced(&pacer);
    }
}

#[test]
fn a_slot_that_is_kept_without_waiting_keeps_its_time_over_changes() {
    let (clock, pacer) = paced("20/s");
    pacer.acquire().unwrap();
    pacer.set_rate(rate("10/s"));
    let mut poller = pacer.poller();
    assert_eq!(poller.poll(), Err(Refused::NotUntil(at(100 * MILLI))));
    clock.set(at(150 * MILLI));
    for change in 0..1_000 {
        pacer.set_rate(rate(if change % 2 == 0 { "11/s" } else { "10/s" }));
        clock.advance(span(100 * MILLI));
        while pacer.try_acquire().is_ok() {}
    }
    assert_eq!(poller.poll().map(Grant::intended_start), Ok(at(100 * MILLI)));
}
