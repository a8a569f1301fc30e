//! Other crates, used as their own documentation says.
//!
//! None of them says how late a start is, and none keeps a schedule: they are limiters. The
//! questions are those that both kinds can answer: what a grant costs that need not wait, and which
//! rate comes out when it has to.

use crate::crew::{self, Work};
use crate::float;
use governor::clock::{Clock as _, DefaultClock};
use governor::{Quota, RateLimiter as Governor};
use leaky_bucket::RateLimiter as LeakyBucket;
use ratelimit::{Ratelimiter, TryWaitError};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// `governor` 0.10: GCRA.
    Governor,
    /// `leaky-bucket` 1.1.
    LeakyBucket,
    /// `ratelimit` 2.0: a token bucket.
    Ratelimit,
}

impl Rival {
    /// All of them.
    pub const ALL: [Rival; 3] = [Rival::Governor, Rival::LeakyBucket, Rival::Ratelimit];

    /// The crate's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rival::Governor => "governor",
            Rival::LeakyBucket => "leaky-bucket",
            Rival::Ratelimit => "ratelimit",
        }
    }

    /// Threads that ask one limiter which lets everybody through.
    ///
    /// # Panics
    /// When it let nobody through.
    #[must_use]
    pub fn unthrottled(self, threads: usize, span: Duration) -> Work {
        match self {
            Rival::Governor => {
                let limiter = Governor::direct(Quota::per_second(NonZeroU32::MAX));
                ask(threads, span, || limiter.check().is_ok())
            }
            Rival::LeakyBucket => {
                let plenty = isize::MAX.unsigned_abs();
                let limiter = LeakyBucket::builder().initial(plenty).max(plenty).build();
                ask(threads, span, || limiter.try_acquire(1))
            }
            Rival::Ratelimit => {
                let limiter = Ratelimiter::builder(1_000_000_000)
                    .max_tokens(1_000_000_000)
                    .initial_available(1_000_000_000)
                    .build()
                    .expect("a rate of 1 G/s");
                ask(threads, span, || limiter.try_wait().is_ok())
            }
        }
    }

    /// Achieved rate by target rate of one thread that starts operations for about `span`.
    ///
    /// # Panics
    /// When the limiter refuses for good.
    #[must_use]
    pub fn achieved(self, per_second: u32, span: Duration) -> f64 {
        let count = u64::from(per_second) * span.as_secs();
        let elapsed = match self {
            Rival::Governor => {
                // Without bursts: the default lets a whole second's operations through at once.
                let rate = NonZeroU32::new(per_second).expect("a rate above zero");
                let limiter =
                    Governor::direct(Quota::per_second(rate).allow_burst(NonZeroU32::MIN));
                let clock = DefaultClock::default();
                timed(count, || {
                    while let Err(not_yet) = limiter.check() {
                        thread::sleep(not_yet.wait_time_from(clock.now()));
                    }
                })
            }
            Rival::LeakyBucket => leaky_bucket(per_second, count),
            Rival::Ratelimit => {
                let limiter = Ratelimiter::new(u64::from(per_second));
                timed(count, || {
                    while let Err(TryWaitError::Insufficient(wait)) = limiter.try_wait() {
                        thread::sleep(wait);
                    }
                })
            }
        };
        float(count) / elapsed.as_secs_f64() / f64::from(per_second)
    }
}

/// Refills every millisecond, as often as it can.
fn leaky_bucket(per_second: u32, count: u64) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let refill = usize::try_from(per_second / 1_000).expect("a rate of at least 1 k/s");
    runtime.block_on(async {
        let limiter = LeakyBucket::builder()
            .refill(refill)
            .interval(Duration::from_millis(1))
            .max(refill)
            .build();
        let start = Instant::now();
        for _ in 0..count {
            limiter.acquire_one().await;
        }
        start.elapsed()
    })
}

fn timed(count: u64, mut start_one: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        start_one();
    }
    start.elapsed()
}

fn ask(threads: usize, span: Duration, try_one: impl Fn() -> bool + Sync) -> Work {
    assert!(try_one(), "a limiter that lets everybody through refused");
    crew::run(threads, span, || {
        || {
            black_box(try_one());
        }
    })
}
