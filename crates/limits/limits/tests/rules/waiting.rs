//! Tests that waiting requests are admitted in their order, and that none is forgotten.

use crate::common::waiters::{Crowd, limiter};
use nanopace_limits::custom::Step;
use nanopace_limits::{CostsRejected, Limiter, Rejected, Wait, WaitError};
use nanopace_nanos::{Clock, ManualClock, Nanos};
use proptest::prelude::*;
use std::task::Waker;
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
enum Event {
    Comes { n: u64, timeout: Option<u64>, jitter: u64 },
    GivesUp { which: usize },
    Asks { is_fair: bool },
    TakesBack,
}

fn any_events(jitter: u64) -> impl Strategy<Value = Vec<(u64, Event)>> {
    let timeout = prop::option::weighted(0.3, 0..3_000_u64);
    let event = prop_oneof![
        5 => (1..4_u64, timeout, 0..=jitter).prop_map(|(n, timeout, jitter)| Event::Comes { n, timeout, jitter }),
        1 => (0..8_usize).prop_map(|which| Event::GivesUp { which }),
        1 => any::<bool>().prop_map(|is_fair| Event::Asks { is_fair }),
        1 => Just(Event::TakesBack),
    ];
    prop::collection::vec((0..400_u64, event), 1..60)
}

fn happen(crowd: &mut Crowd<'_>, limiter: &Limiter, events: &[(u64, Event)]) -> u64 {
    let micros = Duration::from_micros;
    let mut asked = 0;
    for &(pause, event) in events {
        crowd.wait_for(micros(pause));
        match event {
            Event::Comes { n, timeout, jitter } => {
                let wait = Wait::new(n).jitter(micros(jitter));
                crowd.comes(timeout.map_or(wait, |timeout| wait.timeout(micros(timeout))));
            }
            Event::GivesUp { which } => crowd.gives_up(which),
            Event::Asks { is_fair } => {
                asked += u64::from(limiter.clone().fair(is_fair).try_acquire().is_ok());
            }
            Event::TakesBack => drop(limiter.clone().fair(false).reserve(1)),
        }
        crowd.settle();
    }
    asked
}

proptest! {
    #[test]
    fn waiting_requests_are_admitted_in_order_and_none_is_forgotten(
        text in prop::sample::select(vec!["1/ms", "3/ms burst 4", "5/2ms in 4", "4/3ms sliding-log", "3/ms sliding-log-all"]),
        events in any_events(0),
    ) {
        let (clock, limiter) = limiter(text);
        let mut crowd = Crowd::new(&limiter, &clock);
        happen(&mut crowd, &limiter, &events);
        crowd.wait_for_all();
        let let_in = crowd.gone.iter().filter(|(_, end)| end.is_ok()).map(|(number, _)| number);
        prop_assert!(let_in.is_sorted(), "{:?}", crowd.gone);
    }

    #[test]
    fn a_request_that_left_has_taken_nothing(events in any_events(2_000)) {
        let (clock, limiter) = limiter("1/ms burst 2, 1000/h sliding-log");
        let mut crowd = Crowd::new(&limiter, &clock);
        let asked = happen(&mut crowd, &limiter, &events);
        crowd.wait_for_all();
        let costs: Vec<_> = events.iter().filter_map(|(_, event)| match event {
            Event::Comes { n, .. } => Some(*n),
            _ => None,
        }).collect();
        let waited: u64 = crowd.gone.iter().filter(|(_, end)| end.is_ok()).map(|(number, _)| costs[*number]).sum();
        clock.advance(1_000 * MS);
        prop_assert_eq!(limiter.decide_costs(&[0, 0]).unwrap().remaining(), 2);
        // These requests cost the rate nothing, so the log alone decides.
        let counted = (0..=1_000).find(|n| limiter.decide_costs(&[0, 1_000 - n]).unwrap().is_allowed());
        prop_assert_eq!(counted, Some(asked + waited));
    }
}

#[test]
fn a_request_that_is_never_admitted_does_not_wait() {
    let (clock, limiter) = limiter("5/s, 1k/s");
    let never = CostsRejected::Limit(Rejected::ExceedsCapacity { capacity: 5 });
    let number = CostsRejected::Number { limits: 2, costs: 1 };
    let is_told = || {
        assert_eq!(limiter.wait(Wait::new(6)), Err(WaitError::Rejected(never)));
        assert_eq!(limiter.wait(Wait::new(&[1])), Err(WaitError::Rejected(number)));
    };
    is_told();
    limiter.try_acquire_costs(5).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    crowd.comes(Wait::new(1));
    is_told();
}

#[test]
fn a_timeout_that_is_too_short_fails_at_once() {
    let (clock, limiter) = limiter("1/s");
    limiter.until_ready().unwrap();
    let waited = limiter.wait(Wait::new(1).timeout(Duration::from_millis(999)));
    assert_eq!(waited, Err(WaitError::TooLate { retry: Duration::from_secs(1) }));
    clock.advance(Duration::from_secs(1));
    assert_eq!(limiter.wait(Wait::new(1).timeout(Duration::ZERO)), Ok(Duration::ZERO));
}

#[test]
fn the_first_asks_every_second() {
    let (_, limiter) = limiter("1/day");
    limiter.try_acquire().unwrap();
    let mut waiter = limiter.waiter(Wait::default());
    let second = Nanos::from_nanos(1_000_000_000);
    assert_eq!(waiter.step(Waker::noop()), Step::Until(second));
}

#[test]
fn a_waiting_thread_is_admitted_at_its_moment() {
    let clock = ManualClock::jumping();
    let limiter = Limiter::with_clock("1/s".parse().unwrap(), clock.clone());
    let waited: Vec<_> = (0..4).map(|_| limiter.until_ready().unwrap().as_secs()).collect();
    assert_eq!(waited, [0, 1, 1, 1]);
    assert_eq!(clock.now(), Nanos::from_nanos(3_000_000_000));
}

#[test]
fn a_raised_limit_and_a_refund_reach_waiting_threads() {
    let (_, limiter) = limiter("1/day");
    let reservation = limiter.reserve(1).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| limiter.until_ready());
        let second = scope.spawn(|| limiter.until_ready());
        drop(reservation);
        limiter.set_limits("2/day".parse().unwrap());
        assert!(first.join().unwrap().is_ok());
        assert!(second.join().unwrap().is_ok());
    });
    assert!(limiter.try_acquire().is_err());
}

/// The clock does not advance, so no timer makes the waiter ask again.
#[test]
fn a_raised_limit_wakes_the_waiter() {
    let (clock, limiter) = limiter("1/day");
    limiter.try_acquire().unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    let guest = crowd.comes(Wait::default());
    limiter.set_limits("2/day".parse().unwrap());
    crowd.settle();
    assert_eq!(crowd.end_of(guest), Some(Ok(Duration::ZERO)));
}

#[test]
fn a_refund_wakes_the_waiter() {
    let (clock, limiter) = limiter("10/day");
    let reservations = [limiter.reserve(5).unwrap(), limiter.reserve(5).unwrap()];
    let mut crowd = Crowd::new(&limiter, &clock);
    let guests = [crowd.comes(Wait::new(5)), crowd.comes(Wait::new(4))];
    let [one, other] = reservations;
    drop(one);
    crowd.settle();
    assert_eq!(guests.map(|guest| crowd.end_of(guest)), [Some(Ok(Duration::ZERO)), None]);
    other.commit_costs(1);
    crowd.settle();
    assert_eq!(crowd.end_of(guests[1]), Some(Ok(Duration::ZERO)));
}

#[test]
fn a_request_for_nothing_does_not_wait() {
    let limiter = Limiter::with_clock("1/day, 2/day".parse().unwrap(), ManualClock::new());
    limiter.try_acquire().unwrap();
    let mut waiter = limiter.waiter(Wait::new(1));
    assert!(matches!(waiter.step(Waker::noop()), Step::Until(_)));

    let at_once = Wait::new(0).timeout(Duration::ZERO);
    assert_eq!(limiter.wait(at_once), Ok(Duration::ZERO));
    assert_eq!(limiter.wait(Wait::new(&[0, 0])), Ok(Duration::ZERO));
    let too_many = limiter.wait(Wait::new(&[0, 0, 0]));
    assert!(matches!(too_many, Err(WaitError::Rejected(CostsRejected::Number { .. }))));
}
