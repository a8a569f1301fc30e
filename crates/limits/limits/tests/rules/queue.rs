//! Tests that requests that do not wait take nothing from requests that wait, and that timeouts are forecast.

use crate::common::waiters::{Crowd, End, limiter};
use nanopace_limits::custom::Step;
use nanopace_limits::{CostsRejected, Limiter, Rejected, Wait, WaitError};
use nanopace_nanos::{ManualClock, Nanos};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::time::Duration;

const KINDS: [&str; 8] = [
    "1/ms",
    "3/ms burst 4",
    "5/2ms in 4",
    "4/3ms sliding-log",
    "4/3ms fixed-window",
    "4/3ms sliding-counter",
    "700/s burst 4, 8/5ms in 5",
    "4/3ms sliding-log, 6/7ms fixed-window",
];

fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

fn too_early(nanos: u64) -> Result<(), CostsRejected> {
    Ok(not_until(nanos)?)
}

fn not_until(nanos: u64) -> Result<(), Rejected> {
    Err(Rejected::NotUntil(at(nanos)))
}

/// Returns how long each request in `came` waits. Meanwhile, a request that does not wait is made every `asks_every`
/// microseconds.
fn waited(text: &str, came: &[(u64, u64)], asks_every: Option<u64>) -> Vec<Option<Duration>> {
    let micros = Duration::from_micros;
    let (clock, limiter) = limiter(text);
    limiter.try_acquire_costs(4).unwrap_or_else(|_| limiter.try_acquire().unwrap());
    let mut crowd = Crowd::new(&limiter, &clock);
    let comes = |&(pause, n): &(u64, u64)| {
        crowd.wait_for(micros(pause));
        crowd.comes(Wait::new(n))
    };
    let guests: Vec<_> = came.iter().map(comes).collect();
    while crowd.waiting() > 0 {
        assert!(asks_every.is_none() || limiter.try_acquire().is_err(), "somebody waits");
        crowd.wait_for(micros(asks_every.unwrap_or(10)));
    }
    guests.into_iter().map(|guest| crowd.end_of(guest).and_then(Result::ok)).collect()
}

proptest! {
    /// Limits that count rejected requests are excluded, because they also count the requests that do not wait.
    #[test]
    fn requests_that_do_not_wait_take_nothing_from_those_that_wait(
        text in prop::sample::select(KINDS.to_vec()),
        came in prop::collection::vec((0..50_u64, 1..=4_u64), 1..8),
        asks_every in 20..500_u64,
    ) {
        prop_assert_eq!(waited(text, &came, Some(asks_every)), waited(text, &came, None));
    }
}

#[test]
fn a_yielding_request_gets_the_moment_of_the_first() {
    let (clock, limiter) = limiter("100/s burst 10");
    let ms = |n: u64| n * 1_000_000;
    limiter.try_acquire_costs(10).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    let guests = [crowd.comes(Wait::new(3)), crowd.comes(Wait::new(1))];
    clock.set(at(ms(25)));
    assert_eq!(limiter.try_acquire(), not_until(ms(30)), "one is there, which the first will take");
    assert_eq!(limiter.try_acquire_costs(9), too_early(ms(90)), "its own moment");
    assert_eq!(limiter.try_acquire_costs(0), Ok(()));
    let never = Rejected::ExceedsCapacity { capacity: 10 };
    assert_eq!(limiter.try_acquire_costs(11), Err(never.into()));
    assert_eq!(limiter.try_acquire_costs(1), too_early(ms(30)));
    let number = CostsRejected::Number { limits: 1, costs: 2 };
    assert_eq!(limiter.try_acquire_costs(&[1, 1]), Err(number));
    assert_eq!(limiter.reserve(1).map(drop), too_early(ms(30)));
    crowd.wait_until(at(ms(35)));
    assert_eq!(crowd.end_of(guests[0]), Some(Ok(Duration::from_millis(30))));
    assert_eq!(limiter.try_acquire(), not_until(ms(40)), "the other one is the first now");
    crowd.wait_until(at(ms(55)));
    assert_eq!(limiter.try_acquire(), Ok(()), "nobody waits");
}

#[test]
fn a_yielding_decision_has_nothing_left() {
    let (clock, limiter) = limiter("100/s burst 10");
    limiter.try_acquire_costs(10).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    crowd.comes(Wait::new(5));
    clock.advance(Duration::from_millis(20));
    for decision in [limiter.decide(), limiter.decide_costs(1).unwrap()] {
        assert_eq!(decision.answer(), not_until(50_000_000));
        assert_eq!((decision.remaining(), decision.limit()), (0, 10));
        assert_eq!(decision.retry(), Some(Duration::from_millis(30)));
    }
    assert!(limiter.decide_costs(0).unwrap().is_allowed());
    assert_eq!(limiter.standing().remaining, 2, "they took nothing");
}

#[test]
fn an_unfair_handle_overtakes() {
    let (clock, limiter) = limiter("100/s burst 10");
    let unfair = limiter.clone().fair(false);
    limiter.try_acquire_costs(10).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    let guest = crowd.comes(Wait::new(2));
    for _ in 0..100 {
        crowd.wait_for(Duration::from_millis(10));
        assert!(limiter.try_acquire().is_err());
        assert!(unfair.try_acquire().is_ok());
    }
    assert_eq!(crowd.end_of(guest), None);
    assert!(unfair.fair(true).try_acquire().is_err());
}

#[test]
fn a_yielding_request_counts_if_rejected_requests_count() {
    let (clock, limiter) = limiter("4/s sliding-log-all");
    limiter.try_acquire_costs(2).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    crowd.comes(Wait::new(3));
    clock.advance(Duration::from_millis(900));
    assert_eq!(limiter.try_acquire(), not_until(1_000_000_000));
    crowd.wait_until(at(1_000_000_000));
    assert_eq!(limiter.standing().remaining, 0, "3, and the one that gave way");
}

/// Each waiter is stepped only once, like a future that is polled once and then kept.
#[test]
fn a_waiter_that_stops_asking_loses_its_priority() {
    let (clock, limiter) = limiter("10/day");
    limiter.try_acquire_costs(9).unwrap();
    let mut first = limiter.waiter(Wait::new(2));
    let mut second = limiter.waiter(Wait::new(2));
    assert!(matches!(first.step(Waker::noop()), Step::Until(_)));
    assert!(matches!(second.step(Waker::noop()), Step::Until(_)));
    clock.advance(Duration::from_secs(2));
    assert!(limiter.try_acquire().is_err(), "the waiters keep their priority for two seconds");
    clock.advance(Duration::from_nanos(1));
    assert!(limiter.try_acquire_costs(0).is_ok());
    limiter.reserve(1).expect("a second later still").commit_costs(0);
    drop(first);
    // The first request that yields sets the moment at which the second waiter should have asked.
    assert!(limiter.try_acquire().is_err());
    clock.advance(Duration::from_secs(1));
    assert!(limiter.try_acquire().is_err());
    clock.advance(Duration::from_nanos(1));
    assert!(limiter.try_acquire().is_ok());
    drop(second);
}

/// Returns the result of the first step of the last request in `came` (`None` if the request has to wait), and its
/// final result. `timeout`, in nanoseconds, is the timeout of this request.
fn foretold(text: &str, came: &[(u64, u64)], timeout: Option<u64>) -> (Option<End>, End) {
    let micros = Duration::from_micros;
    let (clock, limiter) = limiter(text);
    limiter.try_acquire_costs(4).unwrap_or_else(|_| limiter.try_acquire().unwrap());
    let mut crowd = Crowd::new(&limiter, &clock);
    let (last, others) = came.split_last().unwrap();
    for (pause, n) in others {
        crowd.wait_for(micros(*pause));
        crowd.comes(Wait::new(*n));
    }
    crowd.wait_for(micros(last.0));
    let wait = Wait::new(last.1);
    let last =
        crowd.comes(timeout.map_or(wait, |timeout| wait.timeout(Duration::from_nanos(timeout))));
    let at_once = crowd.end_of(last);
    crowd.wait_for_all();
    (at_once, crowd.end_of(last).unwrap())
}

proptest! {
    #[test]
    fn the_forecast_of_a_timeout_is_right(
        text in prop::sample::select([&KINDS[..], &["3/ms sliding-log-all"]].concat()),
        came in prop::collection::vec((0..400_u64, 1..=3_u64), 1..30),
        timeout in prop_oneof![Just(0), 0..40_000_000_u64],
    ) {
        let (_, without) = foretold(text, &came, None);
        let (at_once, end) = foretold(text, &came, Some(timeout));
        let Ok(needs) = without else {
            prop_assert_eq!(at_once, Some(without), "it is never admitted");
            return Ok(());
        };
        if needs > Duration::from_nanos(timeout) {
            prop_assert_eq!(at_once, Some(Err(WaitError::TooLate { retry: needs })));
        } else {
            prop_assert_eq!(end, Ok(needs));
        }
    }
}

#[test]
fn a_timeout_that_passes_in_the_queue_returns_the_right_moment() {
    let (clock, limiter) = limiter("10/s burst 1");
    limiter.try_acquire().unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    let ms = Duration::from_millis;
    for _ in 0..3 {
        crowd.comes(Wait::new(1));
    }
    let late = crowd.comes(Wait::new(1).timeout(ms(450)));
    crowd.wait_for(ms(150));
    limiter.set_limits("1/s burst 1".parse().unwrap());
    crowd.settle();
    crowd.wait_for(ms(300));
    let Some(Err(WaitError::TooLate { retry })) = crowd.end_of(late) else {
        panic!("{:?}", crowd.end_of(late))
    };
    assert!(retry > ms(1_000), "two are still in front: {retry:?}");
    let patient = crowd.comes(Wait::new(1));
    crowd.wait_for_all();
    assert_eq!(crowd.end_of(patient), Some(Ok(retry)));
}

/// With more than a thousand requests ahead, the forecast is too early.
#[test]
fn a_forecast_sees_a_thousand_requests_ahead() {
    let (clock, limiter) = limiter("1k/s burst 1");
    limiter.try_acquire().unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    for _ in 0..1_100 {
        crowd.comes(Wait::new(1));
    }
    let late = crowd.comes(Wait::new(1).timeout(Duration::from_secs(1)));
    let too_late = WaitError::TooLate { retry: Duration::from_millis(1_001) };
    assert_eq!(crowd.end_of(late), Some(Err(too_late)));
    let hopeful = crowd.comes(Wait::new(1).timeout(Duration::from_millis(1_001)));
    assert_eq!(crowd.end_of(hopeful), None);
}

#[test]
fn a_later_request_sleeps_until_its_deadline_and_fails_if_it_is_never_admitted() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("5/day".parse().unwrap(), clock.clone());
    limiter.try_acquire_costs(5).unwrap();
    let mut first = limiter.waiter(Wait::new(1));
    assert!(matches!(first.step(Waker::noop()), Step::Until(_)));
    let mut patient = limiter.waiter(Wait::new(1));
    assert_eq!(patient.step(Waker::noop()), Step::Until(Nanos::MAX));

    let days = Duration::from_secs(3 * 86_400);
    let mut large = limiter.waiter(Wait::new(4).timeout(days));
    assert_eq!(large.step(Waker::noop()), Step::Until(Nanos::ZERO + days));
    limiter.set_limits("1/day".parse().unwrap());
    clock.advance(days);
    let never = CostsRejected::Limit(Rejected::ExceedsCapacity { capacity: 1 });
    assert_eq!(large.step(Waker::noop()), Step::Done(Err(WaitError::Rejected(never))));
}

#[test]
fn a_later_request_that_leaves_wakes_no_other() {
    struct Calls(AtomicU64);
    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let limiter = Limiter::with_clock("1/day".parse().unwrap(), ManualClock::new());
    limiter.try_acquire().unwrap();
    let calls = Arc::new(Calls(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&calls));
    let mut waiters = [(); 3].map(|()| limiter.waiter(Wait::new(1)));
    for waiter in &mut waiters {
        assert!(matches!(waiter.step(&waker), Step::Until(_)));
    }
    let [first, second, third] = waiters;
    drop(second);
    assert_eq!(calls.0.load(Relaxed), 0);
    drop(first);
    assert_eq!(calls.0.load(Relaxed), 1);
    drop(third);
}

#[test]
fn a_yielding_request_that_is_counted_delays_its_retry() {
    let limits = "2/200ms, 3/s sliding-log-all".parse().unwrap();
    let limiter = Limiter::with_clock(limits, ManualClock::new());
    limiter.try_acquire().unwrap();
    let mut waiter = limiter.waiter(Wait::new(2));
    assert!(matches!(waiter.step(Waker::noop()), Step::Until(_)));
    limiter.try_acquire().unwrap_err();
    let Err(Rejected::NotUntil(moment)) = limiter.try_acquire() else {
        panic!("expected a rejection with a retry time")
    };
    assert_eq!(moment, Nanos::ZERO + Duration::from_secs(1), "three are counted");
}

#[test]
fn a_timeout_is_judged_by_the_limit_with_the_longest_wait() {
    for text in ["1/s, 1/min", "1/min, 1/s"] {
        let limiter = Limiter::with_clock(text.parse().unwrap(), ManualClock::new());
        limiter.try_acquire().unwrap();
        let mut waiter = limiter.waiter(Wait::new(1).timeout(Duration::from_secs(10)));
        let retry = Duration::from_secs(60);
        let hopeless = Step::Done(Err(WaitError::TooLate { retry }));
        assert_eq!(waiter.step(Waker::noop()), hopeless, "{text}");
    }
}
