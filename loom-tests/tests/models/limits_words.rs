//! Models of limiters whose state is one word, of the lock-free fast path of a limiter, and of the bucket that a thread
//! refills.

use loom_tests::{SECOND, at, explore, spawn_with};
use nanopace::{ManualClock, Nanos};
use nanopace_limits::pools::RefilledBucket;
use nanopace_limits::{Atomic, Gcra, LeakyQueue, Limiter, TryAcquire};
use std::sync::Arc;
use std::time::Duration;

/// Threads: two that each make two requests. The limit admits three of the four requests. Edit: `admit` is split into a
/// load and a store.
#[test]
fn one_word_admits_no_more() {
    explore("one_word_admits_no_more", || {
        let limiter = Arc::new(Atomic::new(Gcra::new("3/60s".parse().unwrap())));
        let ask = |limiter: &Atomic<Gcra>| [(); 2].map(|()| limiter.try_acquire_at(Nanos::ZERO));
        let other = spawn_with(&limiter, move |limiter| ask(limiter));
        let mine = ask(&limiter);
        let answers = mine.into_iter().chain(other.join().unwrap());
        assert_eq!(answers.flatten().count(), 3);
        assert_eq!(limiter.state(), 60 * SECOND);
    });
}

/// Threads: two that each enqueue two requests. Edits: `admit` is split into a load and a store; `admit` returns the
/// first word that it read.
#[test]
fn departures_are_unique() {
    explore("departures_are_unique", || {
        let queue = Arc::new(Atomic::new(LeakyQueue::new("1/s".parse().unwrap(), 4).unwrap()));
        let enqueue =
            |queue: &Atomic<LeakyQueue>| [(); 2].map(|()| queue.enqueue_at(Nanos::ZERO).unwrap());
        let other = spawn_with(&queue, move |queue| enqueue(queue));
        let mut departures = enqueue(&queue).to_vec();
        departures.extend(other.join().unwrap());
        departures.sort_unstable();
        assert_eq!(departures, [0, 1, 2, 3].map(|second| at(second * SECOND)));
    });
}

/// Returns a limiter with one rate, whose fast path is open.
fn open(limits: &str) -> Limiter {
    let limiter = Limiter::with_clock(limits.parse().unwrap(), ManualClock::new());
    assert!(limiter.standing().remaining > 0);
    limiter
}

/// Threads: one that makes two requests without the lock, one that calls `decide`, which takes the lock, and then makes
/// a request without the lock. The limit admits three requests. Edits: a request without the lock is split into a load
/// and a store; `close` is split into a load and a store.
#[test]
fn an_open_word_is_counted_once() {
    explore("an_open_word_is_counted_once", || {
        let limiter = open("3/60s");
        let other = spawn_with(&limiter, |limiter| [(); 2].map(|()| limiter.try_acquire().is_ok()));
        let mine = [limiter.decide().is_allowed(), limiter.try_acquire().is_ok()];
        let answers = mine.into_iter().chain(other.join().unwrap());
        assert_eq!(answers.filter(|is_let_in| *is_let_in).count(), 3);
        assert_eq!(limiter.standing().reset, Duration::from_secs(60));
    });
}

/// Threads: one that makes a request without the lock, one that halves the limits and makes a request. One of the two
/// requests is admitted. Edit: the fast path is opened for all limits.
#[test]
fn a_change_reaches_who_asks_without_the_lock() {
    explore("a_change_reaches_who_asks_without_the_lock", || {
        let limiter = open("2/day");
        let other = spawn_with(&limiter, |limiter| limiter.try_acquire().is_ok());
        limiter.set_limits("1/day".parse().unwrap());
        let is_let_in = limiter.try_acquire().is_ok();
        assert!(is_let_in != other.join().unwrap());
    });
}

/// Returns an empty bucket, without a refill thread, that gets two tokens per second. Its capacity is four tokens.
fn bucket() -> Arc<RefilledBucket> {
    let clock = ManualClock::new();
    Arc::new(RefilledBucket::unattended("2/s".parse().unwrap(), 4, 0, 1, clock).unwrap())
}

/// Threads: two that take one token each when the first refill is due. Edit: a request decides on a copy of the state,
/// and stores the copy under another lock.
#[test]
fn a_refill_happens_once() {
    explore("a_refill_happens_once", || {
        let bucket = bucket();
        let other = spawn_with(&bucket, |bucket| bucket.try_acquire_at(at(SECOND)).is_ok());
        let mine = bucket.try_acquire_at(at(SECOND)).is_ok();
        let taken = u64::from(mine) + u64::from(other.join().unwrap());
        assert_eq!(bucket.tokens() + taken, 2);
    });
}

/// Threads: the refill thread, and one that moves the clock forward and drops the bucket. Edits: `stop` does nothing,
/// or wakes the thread before it sets the flag that ends the thread.
#[test]
fn the_refill_thread_ends_with_the_bucket() {
    explore("the_refill_thread_ends_with_the_bucket", || {
        let clock = ManualClock::new();
        let bucket = RefilledBucket::start("2/s".parse().unwrap(), 4, 0, 1, clock.clone()).unwrap();
        clock.advance(Duration::from_secs(1));
        drop(bucket);
    });
}
