//! Tests that a change wakes only the sleepers that have to act on the change.

use crate::common::{
    HOUR, MILLI, SECOND, assert_balanced, at, finish, intended_starts, rate, span, strictness,
    until,
};
use nanopace::{Clock, Grant, ManualClock, Nanos, Pacer, Parker, Refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
struct CountingClock(ManualClock, Arc<AtomicU64>);

impl Clock for CountingClock {
    fn now(&self) -> Nanos {
        self.0.now()
    }

    fn park(&self, parker: &Parker, until: Nanos) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.park(parker, until);
    }

    fn is_real(&self) -> bool {
        false
    }
}

impl CountingClock {
    fn naps(&self) -> u64 {
        self.1.load(Ordering::SeqCst)
    }
}

type Caller = JoinHandle<Result<Grant, Refused>>;

fn asleep(count: u64, clock: &CountingClock, pacer: &Pacer, deadline: Nanos) -> Vec<Caller> {
    let one = |_| {
        let (before, pacer) = (clock.naps(), pacer.clone());
        let caller = thread::spawn(move || pacer.acquire_deadline(deadline));
        until("sleeper", || clock.naps() == before + 1, || ());
        caller
    };
    (0..count).map(one).collect()
}

fn ten_per_second() -> (CountingClock, Pacer) {
    let clock = CountingClock::default();
    let pacer = Pacer::builder(rate("10/s")).tolerance(Duration::ZERO).clock(clock.clone()).build();
    pacer.acquire().expect("due at once");
    (clock, pacer)
}

fn starts(callers: Vec<Caller>) -> Vec<u64> {
    intended_starts(finish("callers", callers, || ()).into_iter().map(|grant| grant.expect("open")))
}

#[test]
fn a_change_to_a_lower_rate_a_pause_and_its_end_wake_no_sleeper() {
    let (clock, pacer) = ten_per_second();
    let callers = asleep(20, &clock, &pacer, Nanos::MAX);
    pacer.set_rate(rate("5/s"));
    pacer.pause();
    clock.0.advance(span(MILLI));
    pacer.resume();
    pacer.set_max_backlog(Some(span(SECOND)));
    pacer.set_max_backlog(None);
    pacer.set_strictness(strictness(1.1));
    pacer.set_strictness(strictness(0.0));
    assert_eq!(clock.naps(), 20);
    clock.0.set(at(SECOND / 10));
    until("the first", || clock.naps() == 21, || ());
    clock.0.set(at(HOUR));
    assert_eq!(
        starts(callers),
        (1..=20).map(|slot| slot * 200 * MILLI + MILLI).collect::<Vec<_>>()
    );
}

#[test]
fn a_change_to_a_higher_rate_wakes_all_sleepers_however_many_they_are() {
    let (clock, pacer) = ten_per_second();
    let callers = asleep(100, &clock, &pacer, Nanos::MAX);
    pacer.set_rate(rate("1M/s"));
    until("everyone", || clock.naps() == 200, || ());
    clock.0.advance(span(MILLI));
    assert_eq!(starts(callers), (1..=100).map(|slot| slot * 1_000).collect::<Vec<_>>());
}

#[test]
fn a_change_wakes_a_sleeper_that_can_no_longer_start_by_its_deadline() {
    let (clock, pacer) = ten_per_second();
    let patient = asleep(3, &clock, &pacer, Nanos::MAX);
    let others = asleep(3, &clock, &pacer, at(SECOND));
    pacer.set_rate(rate("1/s"));
    let refusals = finish("others", others, || ());
    assert!(
        refusals.iter().all(|refusal| matches!(refusal, Err(Refused::NotUntil(_)))),
        "{refusals:?}"
    );
    assert_eq!(clock.naps(), 6);
    clock.0.set(at(HOUR));
    assert_eq!(starts(patient).len(), 3);
    assert_eq!(pacer.ledger().granted, 4);
}

/// The returned slot wakes the sleeper with the latest slot, so all other sleepers keep their slots.
#[test]
fn a_slot_that_comes_back_wakes_one_sleeper() {
    let (clock, pacer) = ten_per_second();
    let claims = [(); 2].map(|()| pacer.claim().expect("open"));
    let callers = asleep(50, &clock, &pacer, Nanos::MAX);
    clock.0.set(at(SECOND / 5));
    let mut claims = claims.into_iter();
    // Slot 1 is due, and so is slot 2, which stays with its owner.
    drop(claims.next());
    until("a start", || callers.iter().any(JoinHandle::is_finished), || ());
    assert_eq!((clock.naps(), pacer.ledger().granted), (50, 1 + 1 + 50));
    clock.0.set(at(HOUR));
    let slots = std::iter::once(1).chain(3..52);
    assert_eq!(starts(callers), slots.map(|slot| slot * 100 * MILLI).collect::<Vec<_>>());
    drop(claims);
    assert_balanced(&pacer);
}

#[test]
fn slots_that_come_back_wake_as_many_sleepers() {
    let (clock, pacer) = ten_per_second();
    let claims = [(); 5].map(|()| pacer.claim().expect("open"));
    let callers = asleep(50, &clock, &pacer, Nanos::MAX);
    drop(claims);
    until("five", || clock.naps() == 55, || ());
    clock.0.set(at(HOUR));
    assert_eq!(starts(callers), (1..=50).map(|slot| slot * 100 * MILLI).collect::<Vec<_>>());
    assert_eq!(pacer.ledger().granted, 51);
    assert_balanced(&pacer);
}

/// The rate is 10/s with ratio 2, so slots start every 50 ms while time is owed. At 3.04 s, all slots up to slot 27 are
/// more than 0.3 s late. Slot 28 therefore replaces the held slot 1. The sleeper waited for slot 25, and gets slot 29.
#[test]
fn a_skip_under_a_burst_ratio_wakes_sleepers_that_may_start_earlier() {
    let (clock, pacer) = ten_per_second();
    pacer.set_strictness(strictness(2.0));
    let mut held: Vec<_> = (1..=20).map(|_| pacer.claim().expect("open")).collect();
    clock.0.set(at(3 * SECOND));
    assert_eq!(pacer.acquire().map(Grant::wait_nanos), Ok(900 * MILLI));
    held.extend([(); 3].map(|()| pacer.claim().expect("open")));
    let sleeper = asleep(1, &clock, &pacer, Nanos::MAX);
    clock.0.set(at(3_040 * MILLI));
    pacer.set_skip_later_than(Some(span(300 * MILLI)));
    assert_eq!(held[0].start().map(Grant::intended_start), Ok(at(2_800 * MILLI)));
    until("a plan", || clock.naps() == 2, || ());
    clock.0.set(at(3_090 * MILLI));
    let start = finish("sleeper", sleeper, || ()).remove(0).expect("open");
    assert_eq!(
        (start.intended_start(), start.actual_start()),
        (at(2_900 * MILLI), at(3_090 * MILLI))
    );
    assert_balanced(&pacer);
}

#[test]
fn claims_that_are_dropped_in_any_order_leave_no_data() {
    let (clock, pacer) = ten_per_second();
    let mut claims: Vec<_> = (0..2_000).map(|_| pacer.claim().ok()).collect();
    for index in 0..2_000 {
        // 7919 and 2000 have no common factor, so each claim is dropped once.
        claims[index * 7_919 % 2_000] = None;
    }
    let size = format!("{pacer:?}").len();
    assert!(size < 4_000, "something is remembered: {size}");
    clock.0.set(at(200 * SECOND));
    for slot in 1..=2_000_u64 {
        assert_eq!(pacer.acquire().map(Grant::intended_start), Ok(at(slot * 100 * MILLI)));
    }
}
