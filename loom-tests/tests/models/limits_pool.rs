//! Models of the token pool: a refill, a change, a close, and callers that wait. Only
//! `a_change_reaches_the_refill_thread` has a refill thread; in the other models, the model's threads do its work.

use loom_tests::{explore, spawn, spawn_with};
use nanopace::ManualClock;
use nanopace_limits::pools::{AcquireError, ManagedPool};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a pool of at most two tokens that gets one token per second.
fn pool() -> (ManualClock, Arc<ManagedPool>) {
    let clock = ManualClock::new();
    let pool =
        ManagedPool::unattended("1/s".parse().unwrap(), 2, 1.0, SECOND, clock.clone()).unwrap();
    (clock, Arc::new(pool))
}

/// Threads: one that acquires a token, one that closes the pool. Edits: `close` wakes no caller; `acquire` does not
/// check whether the pool is closed; `acquire` checks the pool and joins the queue under two locks.
#[test]
fn closing_a_pool_strands_nobody() {
    explore("closing_a_pool_strands_nobody", || {
        let (_clock, pool) = pool();
        let other = spawn_with(&pool, |pool| pool.acquire(1));
        pool.close();
        assert_eq!(other.join().unwrap(), Err(AcquireError::Closed));
    });
}

/// Threads: one that acquires two tokens, one that acquires one token when only one token is available. Edit: `check`
/// does not check the queue.
#[test]
fn nobody_overtakes_who_waits() {
    explore("nobody_overtakes_who_waits", || {
        let (clock, pool) = pool();
        let other = spawn_with(&pool, |pool| pool.acquire(2));
        clock.advance(SECOND);
        let waits = pool.queued() == 1;
        let taken = pool.take(1).is_ok();
        assert!(!(waits && taken));
        clock.advance(2 * SECOND);
        pool.refill();
        assert!(other.join().unwrap().is_ok());
        let left = pool.snapshot();
        assert_eq!(u128::from(left.active()) + left.waiting(), u128::from(!taken));
    });
}

/// Threads: one that acquires a token, one that shortens the interval, at a time when one token has accrued and the
/// next refill is an hour away. Edits: a change serves no caller; `acquire` checks the pool and joins the queue under
/// two locks.
#[test]
fn a_change_reaches_who_waits() {
    explore("a_change_reaches_who_waits", || {
        let (clock, pool) = pool();
        pool.set_interval(Duration::from_secs(3_600)).unwrap();
        clock.advance(SECOND);
        let other = spawn_with(&pool, |pool| pool.acquire(1));
        pool.set_interval(SECOND).unwrap();
        assert_eq!(other.join().unwrap(), Ok(Duration::ZERO));
    });
}

/// Threads: one that acquires two tokens, one that makes the pool smaller. Edits: `set_size` rejects no caller;
/// `acquire` checks the pool and joins the queue under two locks.
#[test]
fn a_smaller_pool_strands_nobody() {
    explore("a_smaller_pool_strands_nobody", || {
        let (_clock, pool) = pool();
        let other = spawn_with(&pool, |pool| pool.acquire(2));
        pool.set_size(1, 1.0).unwrap();
        let expected = Err(AcquireError::ExceedsCapacity { capacity: 1 });
        assert_eq!(other.join().unwrap(), expected);
    });
}

/// Threads: the refill thread, one that shortens the interval and acquires a token, one that moves the clock forward.
/// Edits: a change does not end the sleep; the thread drops a wake-up that comes while it computes the next refill; a
/// refill serves no caller.
#[test]
fn a_change_reaches_the_refill_thread() {
    explore("a_change_reaches_the_refill_thread", || {
        let clock = ManualClock::new();
        let hour = Duration::from_secs(3_600);
        let pool = ManagedPool::start("1/s".parse().unwrap(), 2, 1.0, hour, clock.clone()).unwrap();
        pool.set_interval(SECOND).unwrap();
        let other = spawn(move || clock.advance(SECOND));
        assert_eq!(pool.acquire(1), Ok(Duration::ZERO));
        other.join().unwrap();
    });
}
