//! Threads that meet in a limiter; for `ThreadSanitizer`, and for what a real machine does.

use crate::laws::{SECOND, at};
use nanopace_limits::TryAcquire;
use nanopace_limits::pools::RefilledBucket;
use nanopace_nanos::ManualClock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

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
    let taken: usize = thread::scope(|scope| {
        [(); 4].map(|()| scope.spawn(ask)).into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken as u64 + bucket.tokens(), 200_000);
}
