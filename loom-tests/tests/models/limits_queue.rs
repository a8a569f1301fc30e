//! Models of the queue of requests that wait for a limit. No wake-up may be lost, and no waiter may be overtaken.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom_tests::{explore, explore_less, spawn, spawn_with};
use nanopace::ManualClock;
use nanopace_limits::custom::Step;
use nanopace_limits::{Limiter, Wait};
use std::task::Waker;
use std::time::Duration;

fn exhausted() -> (Limiter, nanopace_limits::Reservation) {
    let limiter = Limiter::with_clock("2/day".parse().unwrap(), ManualClock::new());
    let reservation = limiter.reserve(2).unwrap();
    (limiter, reservation)
}

/// Threads: one that waits for the limit, one that drops the reservation. Edits: `settle` wakes no waiter; a waiter
/// that comes to an empty queue checks the limit before it enters the queue, but not after that.
#[test]
fn a_refund_reaches_who_waits() {
    explore("a_refund_reaches_who_waits", || {
        let (limiter, reservation) = exhausted();
        let waiting = spawn_with(&limiter, |limiter| limiter.until_ready().is_ok());
        drop(reservation);
        assert!(waiting.join().unwrap());
    });
}

/// Threads: two that wait for the limit, one that drops the reservation. Edits: `settle` wakes no waiter; a waiter that
/// leaves the queue does not wake the next one.
#[test]
fn the_next_in_line_is_called() {
    explore_less(0, "the_next_in_line_is_called", || {
        let (limiter, reservation) = exhausted();
        let waiting: Vec<_> =
            (0..2).map(|_| spawn_with(&limiter, |limiter| limiter.until_ready().is_ok())).collect();
        drop(reservation);
        assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap()));
    });
}

/// Threads: one that makes a request of cost 1, if it sees that the other thread has made its request; one that waits
/// with a request of cost 2. The limit has room for a cost of 1. Edits: the number of waiters is loaded before the lock
/// is taken; the fast path is opened while a request waits.
#[test]
fn nobody_overtakes_who_waits_for_a_limit() {
    explore("nobody_overtakes_who_waits_for_a_limit", || {
        let (limiter, reservation) = exhausted();
        reservation.commit_costs(1);
        let has_looked = Arc::new(AtomicBool::new(false));
        let asking = spawn({
            let (limiter, has_looked) = (limiter.clone(), Arc::clone(&has_looked));
            move || {
                // Relaxed: the limiter itself has to provide the ordering.
                if has_looked.load(Relaxed) {
                    assert!(limiter.try_acquire().is_err());
                    assert!(limiter.wait(Wait::new(1).timeout(Duration::ZERO)).is_err());
                }
            }
        });
        let mut waiter = limiter.waiter(Wait::new(2));
        assert!(matches!(waiter.step(Waker::noop()), Step::Until(_)));
        has_looked.store(true, Relaxed);
        asking.join().unwrap();
    });
}

/// Threads: one that makes a request with a timeout when the limit has room for both requests; one that waits. Edit: an
/// admitted request keeps its cost until it has left the queue.
#[test]
fn a_timeout_is_judged_by_those_who_still_wait() {
    explore("a_timeout_is_judged_by_those_who_still_wait", || {
        let (limiter, reservation) = exhausted();
        let mut waiter = limiter.waiter(Wait::new(1));
        assert!(matches!(waiter.step(Waker::noop()), Step::Until(_)));
        drop(reservation);
        let coming = spawn_with(&limiter, |limiter| {
            limiter.wait(Wait::new(1).timeout(Duration::from_secs(3_600))).is_ok()
        });
        assert!(matches!(waiter.step(Waker::noop()), Step::Done(Ok(_))));
        assert!(coming.join().unwrap());
    });
}
