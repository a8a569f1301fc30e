//! Tests tasks that wait. Assertions about elapsed time check only that no task is admitted early.

use governor::clock::{Clock, MonotonicClock, ReasonablyRealtime};
use governor::{InsufficientCapacity, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

fn cells(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// In the last runtime, which has no I/O, the limiter's timer is a thread.
fn runtimes() -> [Runtime; 3] {
    let single = Builder::new_current_thread().enable_all().build();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    [single, multi, Builder::new_current_thread().build()].map(Result::unwrap)
}

#[test]
fn a_task_waits_until_its_cell_is_due() {
    for runtime in runtimes() {
        let limiter = RateLimiter::direct(Quota::per_second(cells(200)));
        let began = Instant::now();
        runtime.block_on(async {
            for _ in 0..=10 {
                limiter.until_ready().await;
            }
        });
        assert!(began.elapsed() >= Duration::from_millis(49)); // the two clocks may differ by 2 %
    }
}

#[test]
fn several_cells_count_as_many() {
    for runtime in runtimes() {
        let limiter = RateLimiter::direct(Quota::per_second(cells(200)));
        let began = Instant::now();
        runtime.block_on(async {
            for _ in 0..3 {
                assert_eq!(limiter.until_n_ready(cells(5)).await, Ok(()));
            }
            assert_eq!(limiter.until_n_ready(cells(201)).await, Err(InsufficientCapacity(200)));
        });
        assert!(began.elapsed() >= Duration::from_millis(49));
    }
}

#[test]
fn tasks_share_one_schedule() {
    for runtime in runtimes() {
        let limiter = Arc::new(RateLimiter::direct(Quota::per_second(cells(1_000))));
        let began = Instant::now();
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for _ in 0..51 {
                let limiter = Arc::clone(&limiter);
                tasks.spawn(async move { limiter.until_ready().await });
            }
            assert_eq!(tasks.join_all().await.len(), 51);
        });
        assert!(began.elapsed() >= Duration::from_millis(49));
    }
}

#[test]
fn a_limiter_outlives_the_runtime_of_its_first_task() {
    let limiter = RateLimiter::direct(Quota::per_second(cells(1_000)));
    for runtime in runtimes() {
        runtime.block_on(async {
            for _ in 0..20 {
                limiter.until_ready().await;
            }
        });
    }
}

#[test]
fn a_task_that_is_cancelled_takes_nothing() {
    let runtime = &runtimes()[0];
    let limiter = RateLimiter::direct(Quota::per_hour(cells(1)));
    runtime.block_on(async {
        limiter.until_ready().await;
        let due = limiter.check().unwrap_err().earliest_possible();
        for _ in 0..5 {
            let waiting = tokio::time::timeout(Duration::from_millis(1), limiter.until_ready());
            assert!(waiting.await.is_err());
        }
        let later = limiter.check().unwrap_err().wait_time_from(due);
        assert!(later < Duration::from_secs(60), "{later:?}");
    });
}

#[cfg(feature = "jitter")]
#[test]
fn jitter_comes_on_top() {
    use governor::Jitter;
    let jitter = Jitter::new(Duration::from_millis(30), Duration::from_millis(2));
    for runtime in runtimes() {
        let limiter = RateLimiter::direct(Quota::per_second(cells(100)));
        runtime.block_on(async {
            let mut longest = Duration::ZERO;
            // Cells that are already due get no jitter. After a stall, many cells may be due.
            for _ in 0..1_000 {
                let began = Instant::now();
                limiter.until_ready_with_jitter(jitter).await;
                longest = longest.max(began.elapsed());
                if longest >= Duration::from_millis(29) {
                    break;
                }
            }
            assert!(longest >= Duration::from_millis(29), "{longest:?}");
            assert_eq!(limiter.until_n_ready_with_jitter(cells(2), jitter).await, Ok(()));
            let too_many = limiter.until_n_ready_with_jitter(cells(101), jitter).await;
            assert_eq!(too_many, Err(InsufficientCapacity(100)));
        });
    }
}

/// A clock that does not advance, like a tool's clock that is paused.
#[derive(Clone)]
struct Paused(Instant);

impl Clock for Paused {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0
    }
}

impl ReasonablyRealtime for Paused {}

#[test]
fn a_clock_that_does_not_advance_holds_no_caller_back() {
    let runtime = &runtimes()[1];
    let clock = Paused(Instant::now());
    let limiter = RateLimiter::direct_with_clock(Quota::per_second(cells(1_000)), clock.clone());
    runtime.block_on(async {
        for _ in 0..20 {
            limiter.until_ready().await;
        }
    });
    if let Err(not_until) = limiter.check() {
        assert!(not_until.wait_time_from(clock.now()) <= Duration::from_millis(1));
    }
}

#[test]
fn limiters_and_their_futures_cross_threads() {
    fn crosses<T: Send + Sync>(value: T) -> T {
        value
    }
    let limiter =
        crosses(RateLimiter::direct_with_clock(Quota::per_hour(cells(1)), MonotonicClock));
    drop(crosses(limiter.until_ready()));
}
