//! Tests that jitter delays only the request itself.

use crate::common::waiters::{Crowd, limiter};
use nanopace_limits::custom::Step;
use nanopace_limits::{Wait, WaitError};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::task::Waker;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Returns how many requests end within two seconds. A new request replaces each of them within 0.1 ms.
fn got_in(guests: usize, jitter: Duration) -> usize {
    let (clock, limiter) = limiter("1k/s burst 1");
    let mut crowd = Crowd::new(&limiter, &clock);
    let wait = Wait::new(1).jitter(jitter);
    for _ in 0..20_000 {
        while crowd.waiting() < guests {
            crowd.comes(wait);
        }
        crowd.wait_for(MS / 10);
    }
    crowd.gone.len()
}

#[test]
fn jitter_does_not_reduce_throughput() {
    for guests in [20, 50] {
        let (with, without) = (got_in(guests, 10 * MS), got_in(guests, Duration::ZERO));
        assert!(with * 100 >= without * 95, "{with} of {without} with {guests} guests");
    }
}

proptest! {
    #[test]
    fn jitter_passes_after_the_admission(jitter_ms in 0..5_000_u32, timeout_ms in 1_000..4_000_u32) {
        let (clock, limiter) = limiter("1/s");
        let mut crowd = Crowd::new(&limiter, &clock);
        let (jitter, timeout) = (jitter_ms * MS, timeout_ms * MS);
        let wait = Wait::new(1).jitter(jitter).timeout(timeout);
        let guests = [crowd.comes(wait), crowd.comes(wait)];
        prop_assert_eq!(crowd.end_of(guests[0]), Some(Ok(Duration::ZERO)));
        crowd.wait_for_all();
        let waited = crowd.end_of(guests[1]).unwrap().unwrap();
        prop_assert!(waited >= 1_000 * MS && waited <= timeout.min(1_000 * MS + jitter), "{:?}", waited);
    }
}

#[test]
fn jitter_is_random() {
    let waited = |_| {
        let (clock, limiter) = limiter("1/s");
        limiter.try_acquire().unwrap();
        let mut crowd = Crowd::new(&limiter, &clock);
        let guest = crowd.comes(Wait::new(1).jitter(100_000 * MS));
        crowd.wait_for_all();
        crowd.end_of(guest).unwrap().unwrap()
    };
    let waited: Vec<_> = (0..64).map(waited).collect();
    assert!(waited.iter().any(|waited| *waited > 2_000 * MS), "{waited:?}");
}

#[test]
fn a_request_dropped_during_its_jitter_is_refunded() {
    let (clock, limiter) = limiter("10/day");
    limiter.try_acquire_costs(10).unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    let day = Nanos::from_nanos(24 * 3_600_000_000_000);
    crowd.comes(Wait::new(10).jitter(1_000 * MS));
    let next = crowd.comes(Wait::new(5));
    let half_a_day = Duration::from_secs(12 * 3_600);
    clock.set(day - half_a_day);
    crowd.settle();
    crowd.wait_until(day);
    assert_eq!((crowd.waiting(), crowd.end_of(next)), (2, None));
    crowd.gives_up(0);
    assert_eq!(crowd.end_of(next), Some(Ok(day - Nanos::ZERO)));
    assert_eq!(limiter.standing().remaining, 5);
}

#[test]
fn a_wake_up_does_not_shorten_the_jitter() {
    let (clock, limiter) = limiter("1/s");
    limiter.try_acquire().unwrap();
    let mut waiter = limiter.waiter(Wait::new(1).jitter(1_000 * MS));
    let Step::Until(moment) = waiter.step(Waker::noop()) else { panic!("too early") };
    clock.set(moment);
    let Step::Until(later) = waiter.step(Waker::noop()) else { return };
    assert_eq!(waiter.step(Waker::noop()), Step::Until(later));
    clock.set(later);
    assert_eq!(waiter.step(Waker::noop()), Step::Done(Ok(later - Nanos::ZERO)));
}

#[test]
fn later_requests_do_not_wait_for_the_jitter() {
    let (clock, limiter) = limiter("1/s");
    limiter.try_acquire().unwrap();
    let mut crowd = Crowd::new(&limiter, &clock);
    crowd.comes(Wait::new(1).jitter(100_000 * MS));
    let in_time = crowd.comes(Wait::new(1).timeout(2_000 * MS));
    let late = crowd.comes(Wait::new(1).timeout(2_999 * MS));
    let too_late = WaitError::TooLate { retry: 3_000 * MS };
    assert_eq!(crowd.end_of(late), Some(Err(too_late)));
    crowd.wait_until(Nanos::from_nanos(2_000_000_000));
    assert_eq!(crowd.end_of(in_time), Some(Ok(2_000 * MS)));
}

#[cfg(feature = "async")]
#[test]
fn a_future_dropped_during_its_jitter_has_taken_nothing() {
    let (clock, limiter) = limiter("1/s");
    limiter.try_acquire().unwrap();
    let tasks = nanopace_limits::AsyncLimiter::new(limiter.clone()).unwrap();
    let mut waiting = Box::pin(tasks.wait(Wait::new(1).jitter(Duration::from_secs(3_600))));
    let mut context = std::task::Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    clock.advance(Duration::from_secs(1));
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    assert!(limiter.try_acquire().is_err(), "it has taken one");
    drop(waiting);
    assert!(limiter.try_acquire().is_ok());
}
