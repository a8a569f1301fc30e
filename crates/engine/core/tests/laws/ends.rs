//! Tests schedules that end: after a number of slots, or after a time.

use crate::common::{SECOND, assert_balanced, build, drain, intended_ns, rate, span, strictness};
use nanopace::driver::Drive as _;
use nanopace::{Ended, ManualClock, Nanos, Pacer, PacerBuilder, Refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::thread;

fn count(pacer: &Pacer) -> u64 {
    let mut count = 0;
    while pacer.acquire().is_ok() {
        count += 1;
    }
    assert_eq!(pacer.acquire(), Err(Ended::Finished));
    assert_eq!(pacer.next_due(), Err(Ended::Finished));
    assert!(pacer.is_finished());
    count
}

#[test]
fn the_number_of_slots_is_the_requested_one_if_it_fits() {
    for (text, slots, until_ns, expected) in [
        ("10/s", Some(0), None, 0),
        ("10/s", Some(7), None, 7),
        ("10/s", None, Some(0), 0),
        ("10/s", None, Some(1), 1),
        ("10/s", None, Some(SECOND), 10),
        ("10/s", None, Some(SECOND + 1), 11),
        ("3/s", None, Some(SECOND), 3),
        ("3/s", None, Some(333_333_333), 1),
        ("3/s", None, Some(333_333_334), 1),
        ("3/s", None, Some(333_333_335), 2),
        // Intended starts are rounded up, so slot 21 starts at 3 ns, which is the end.
        ("10G/s", None, Some(3), 21),
        ("10/s", Some(7), Some(SECOND), 7),
        ("10/s", Some(70), Some(SECOND), 10),
    ] {
        for strict in [0.0, 1.0, 1.5] {
            let builder = build(text, &ManualClock::jumping()).strictness(strictness(strict));
            let builder = slots.into_iter().fold(builder, PacerBuilder::slots);
            let builder = until_ns.into_iter().fold(builder, |builder, ns| builder.until(span(ns)));
            let pacer = builder.build();
            assert_eq!(count(&pacer), expected, "{text}, {slots:?}, {until_ns:?}, {strict}");
            assert_balanced(&pacer);
        }
    }
}

#[test]
fn an_end_beyond_the_range_of_positions_is_kept() {
    let slots = (1_u64 << 47) + 5;
    let pacer = build("10G/s", &ManualClock::jumping()).slots(slots).build();
    let row = u64::from(u32::MAX);
    for _ in 0..slots / row {
        pacer.acquire_many(u32::MAX).expect("a row fits");
    }
    assert_eq!(pacer.acquire_many(u32::MAX), Err(Refused::Finished));
    let rest = u32::try_from(slots % row).expect("less than a row");
    pacer.acquire_many(rest).expect("the rest fits");
    assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
    assert_eq!(pacer.ledger().granted, slots);
}

#[test]
fn a_row_that_does_not_fit_takes_nothing() {
    let pacer = build("10/s", &ManualClock::jumping()).slots(5).build();
    pacer.acquire_many(3).expect("three of five");
    assert_eq!(pacer.acquire_many(3), Err(Refused::Finished));
    assert_eq!(pacer.try_acquire_many(3), Err(Refused::Finished));
    assert!(matches!(pacer.claim_many(3), Err(Refused::Finished)));
    assert_eq!(pacer.next_due_many(3), Err(Ended::Finished));
    assert_eq!(pacer.next_due_many(2), pacer.next_due());
    pacer.acquire_many(2).expect("two are left");
    assert_eq!(pacer.ledger().granted, 5);
}

#[test]
fn a_sleeper_whose_slot_no_longer_exists_returns_finished() {
    let clock = ManualClock::new();
    let pacer = build("1/s", &clock).until(span(10 * SECOND)).build();
    pacer.acquire().expect("slot 0");
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| pacer.acquire());
        let claim = pacer.claim();
        pacer.set_rate(rate("1/h"));
        assert_eq!(sleeper.join().expect("no panic"), Err(Ended::Finished));
        let mut claim = claim.expect("slot 1 or 2");
        assert_eq!(claim.start(), Err(Refused::Finished));
        assert_eq!(claim.due(), Err(Ended::Finished));
    });
    assert_eq!(pacer.ledger().granted, 1);
}

#[test]
fn threads_start_each_slot_once_and_no_other() {
    for strict in [0.0, 1.0] {
        let (clock, others) = (ManualClock::jumping(), AtomicU32::new(3));
        let builder = build("1M/s", &clock).strictness(strictness(strict)).slots(20_000);
        let pacer = builder.until(span(SECOND)).build();
        let all = |pacer: &Pacer| {
            let mut starts = Vec::new();
            while let Ok(grant) = pacer.acquire() {
                starts.push(intended_ns(grant));
            }
            starts
        };
        let by_lane = |pacer: &Pacer| {
            let (mut lane, mut starts) = (pacer.lane(), Vec::new());
            while let Ok(grant) = lane.acquire() {
                starts.push(intended_ns(grant));
            }
            starts
        };
        let by_claim = |pacer: &Pacer| {
            let mut starts = Vec::new();
            while let Ok(mut claim) = pacer.claim()
                && others.load(Relaxed) > 0
            {
                starts.extend(claim.start().map(intended_ns));
            }
            starts
        };
        let ended = |starts| {
            others.fetch_sub(1, Relaxed);
            starts
        };
        let mut starts = thread::scope(|scope| {
            let threads = [
                scope.spawn(|| ended(all(&pacer))),
                scope.spawn(|| ended(all(&pacer))),
                scope.spawn(|| ended(by_lane(&pacer))),
                scope.spawn(|| by_claim(&pacer)),
            ];
            threads.map(|thread| thread.join().expect("no panic")).concat()
        });
        // A worker's lane or claim may have given back a slot after the other workers were done.
        starts.extend(all(&pacer));
        starts.sort_unstable();
        assert_eq!(starts.len(), 20_000);
        let same = starts.windows(2).position(|pair| strict == 0.0 && pair[0] == pair[1]);
        assert_eq!(same.map(|at| (at, starts[at])), None, "twice");
        assert_eq!(pacer.ledger().granted, 20_000);
        assert!(pacer.is_finished());
    }
}

#[test]
fn slots_that_are_due_at_the_end_outlive_the_range_of_positions() {
    for refused in [false, true] {
        let clock = ManualClock::new();
        let pacer = build("1k/s", &clock).slots(500).build();
        pacer.set_rate(rate("10G/s"));
        clock.advance(span(3_600 * SECOND));
        let before = pacer.ledger();
        if refused {
            assert_eq!(pacer.try_acquire_many(u32::MAX), Err(Refused::Finished));
            assert_eq!(pacer.ledger(), before);
        }
        assert_eq!(drain(&pacer).len(), 500);
        assert_eq!(pacer.ledger().idle, span(0));
        assert_balanced(&pacer);
    }
    let clock = ManualClock::new();
    let pacer = build("10G/s", &clock).until(span(SECOND / 2)).build();
    clock.advance(span(3_600 * SECOND));
    let due = pacer.ledger().backlog_slots;
    pacer.try_acquire().expect("billions of slots are due");
    assert_eq!(pacer.ledger().backlog_slots, due - 1);
    assert_eq!(pacer.ledger().elapsed, span(SECOND / 2));
    assert_balanced(&pacer);
}

#[test]
fn slots_that_are_forfeited_to_after_the_end_no_longer_exist() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).until(span(SECOND)).strictness(strictness(1.0)).build();
    let mut claims: Vec<_> = (0..8).map(|_| pacer.claim().expect("ten slots")).collect();
    thread::scope(|scope| {
        let sleepers = [scope.spawn(|| pacer.acquire()), scope.spawn(|| pacer.acquire())];
        crate::common::until("both sleep", || pacer.ledger().granted == 10, || {});
        clock.advance(span(3 * SECOND / 10));
        claims[0].start().expect("late");
        for sleeper in sleepers {
            assert_eq!(sleeper.join().expect("no panic"), Err(Ended::Finished));
        }
    });
    assert_eq!(claims[7].due(), Err(Ended::Finished));
    drop(claims);
    clock.advance(span(9 * SECOND));
    while pacer.try_acquire().is_ok() {}
    assert_eq!(pacer.ledger().elapsed, span(SECOND));
    assert_balanced(&pacer);
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn the_end_is_reported_when_the_last_slot_is_taken_ahead() {
    let pacer = build("1k/s", &ManualClock::new()).slots(2).build();
    pacer.acquire().expect("slot 0");
    let (watch, flag) = (pacer.watch(), Arc::new(Flag(AtomicBool::new(false))));
    watch.set(&Waker::from(Arc::clone(&flag)));
    let _last = pacer.claim().expect("slot 1");
    assert!(flag.0.load(Relaxed), "nothing is left to wait for");
}

#[test]
fn the_end_is_reported_however_the_last_slot_is_taken() {
    let ways =
        ["acquire", "try_acquire", "lane", "claim"].map(|by| [(by, "even"), (by, "poisson")]);
    for slots in [2, 3, 5, 100] {
        for (by, arrivals) in ways.into_iter().flatten() {
            let clock = ManualClock::new();
            let builder = build("1k/s", &clock).arrivals(arrivals.parse().expect("a process"));
            let pacer = builder.slots(slots).build();
            clock.advance(span(SECOND));
            let mut lane = pacer.lane();
            let (watch, flag) = (pacer.watch(), Arc::new(Flag(AtomicBool::new(false))));
            for slot in 0..slots {
                watch.set(&Waker::from(Arc::clone(&flag)));
                assert!(!flag.0.load(Relaxed), "{by}, {arrivals}, {slot} of {slots}");
                let is_taken = match by {
                    "acquire" => pacer.acquire().is_ok(),
                    "try_acquire" => pacer.try_acquire().is_ok(),
                    "lane" => lane.acquire().is_ok(),
                    _ => pacer.claim().expect("a slot").start().is_ok(),
                };
                assert!(is_taken, "{by}, {arrivals}, {slot} of {slots}");
                clock.advance(span(1));
            }
            assert!(flag.0.load(Relaxed), "{by}, {arrivals}: nothing is left of {slots}");
        }
    }
}

#[test]
fn the_first_use_is_reported_in_every_way_to_take_a_slot() {
    for by in ["acquire", "try_acquire", "many", "lane", "claim"] {
        let pacer = build("1k/s", &ManualClock::new()).start_on_first_use().build();
        let (watch, flag) = (pacer.watch(), Arc::new(Flag(AtomicBool::new(false))));
        watch.set(&Waker::from(Arc::clone(&flag)));
        assert_eq!(pacer.next_due(), Ok(Nanos::MAX), "{by}");
        let is_taken = match by {
            "acquire" => pacer.acquire().is_ok(),
            "try_acquire" => pacer.try_acquire().is_ok(),
            "many" => pacer.try_acquire_many(1).is_ok(),
            "lane" => pacer.lane().acquire().is_ok(),
            _ => pacer.claim().is_ok(),
        };
        assert!(is_taken && flag.0.load(Relaxed), "{by}");
    }
}

#[test]
fn the_end_is_reported_again_when_a_slot_that_came_back_is_taken() {
    let pacer = build("1/h", &ManualClock::new()).slots(3).build();
    pacer.acquire().expect("slot 0");
    let [first, _second] = [(); 2].map(|()| pacer.claim().expect("a slot"));
    assert!(pacer.is_finished());
    drop(first);
    assert!(!pacer.is_finished());

    let (watch, flag) = (pacer.watch(), Arc::new(Flag(AtomicBool::new(false))));
    watch.set(&Waker::from(Arc::clone(&flag)));
    assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_))));
    assert!(!flag.0.load(Relaxed));
    let _third = pacer.claim().expect("the slot that was given back");
    assert!(flag.0.load(Relaxed), "nothing is left to wait for");
    assert_eq!(pacer.next_due(), Err(Ended::Finished));
}
