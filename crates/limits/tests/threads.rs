//! Threads that meet in limiters without a lock; for `ThreadSanitizer`, and for what a real machine
//! does.

mod laws;

use laws::{Arrival, MILLI, SECOND, at, span};
use nanopace::ManualClock;
use nanopace_limits::{AtomicRing, Quota, RefilledBucket, SlottedRing, TryAcquire};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: usize = 4;

/// What `ask` returns in each of the threads.
fn in_threads<T: Send>(ask: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(&ask));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Each thread asks at moments that all of them have seen, so that slots are taken over while
/// others still count in them.
#[test]
fn a_ring_never_exceeds_what_it_guards() {
    let quota = Quota::new(100, span(SECOND)).unwrap();
    let ring = AtomicRing::new(SlottedRing::<8>::guarding(quota)).unwrap();
    let clock = AtomicU64::new(0);
    let ask = || {
        let mut let_in = Vec::new();
        while let now @ 0..5_000 = clock.fetch_add(1, Ordering::Relaxed) {
            let now = at(now * MILLI);
            if ring.try_acquire_n_at(2, now).is_ok() {
                let_in.push(Arrival { now, n: 2 });
            }
        }
        let_in
    };
    let let_in: Vec<Arrival> = in_threads(ask).concat();
    // A thread that is held up counts in the slot of the others. Any seven slots of a seventh of a
    // second let in 100, and five seconds have 36 slots.
    let sum: u64 = let_in.iter().map(|one| one.n).sum();
    assert!((100..=600).contains(&sum), "{sum}");
}

#[test]
fn a_slot_of_a_ring_is_shared_to_the_last() {
    let ring = AtomicRing::new(SlottedRing::<8>::new("10000/s".parse().unwrap())).unwrap();
    let ask = || (0..10_000).filter(|_| ring.try_acquire_at(at(0)).is_ok()).count();
    assert_eq!(in_threads(ask).into_iter().sum::<usize>(), 10_000);
}

#[test]
fn a_refilled_bucket_loses_no_token_and_makes_none() {
    let clock = ManualClock::new();
    let bucket =
        RefilledBucket::unattended("100/s".parse().unwrap(), 1_000_000, 0, 1, clock).unwrap();
    let moment = AtomicU64::new(1);
    let ask = || {
        let mut taken = 0;
        while let now @ 0..=2_000 = moment.fetch_add(1, Ordering::Relaxed) {
            taken += (0..60).filter(|_| bucket.try_acquire_at(at(now * SECOND)).is_ok()).count();
        }
        taken
    };
    let taken: usize = in_threads(ask).into_iter().sum();
    assert_eq!(taken as u64 + bucket.tokens(), 200_000);
}
