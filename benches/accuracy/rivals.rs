//! The same question to other crates, each as its documentation says.
//!
//! None of them has a schedule to be late against: it is taken to begin with their first start.

use crate::cell::Start;
use governor::{Quota, RateLimiter};
use leaky_bucket::RateLimiter as LeakyBucket;
use nanopace::Rate;
use nanopace_benches::float;
use ratelimit::{Ratelimiter, TryWaitError};
use std::future::Future;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rival {
    /// `until_ready`, without a burst: with one, all of it would start at once.
    Governor,
    /// `try_wait` and a plain sleep.
    Ratelimit,
    /// `acquire_one`, one token per interval, or as many a millisecond as the rate needs.
    LeakyBucket,
    /// An interval's `tick`, with its default for missed ones.
    Tokio,
}

pub(crate) const ALL: [Rival; 4] =
    [Rival::Governor, Rival::Ratelimit, Rival::LeakyBucket, Rival::Tokio];

impl Rival {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rival::Governor => "governor",
            Rival::Ratelimit => "ratelimit",
            Rival::LeakyBucket => "leaky-bucket",
            Rival::Tokio => "tokio",
        }
    }

    /// How many starts it made until `patience` was over.
    pub(crate) fn run(self, rate: Rate, starts: &mut [Start], patience: Duration) -> usize {
        let interval = Duration::from_secs_f64(rate.interval_ns() * 1e-9);
        let mut log = Log {
            origin: Instant::now(),
            patience,
            interval_ns: rate.interval_ns(),
            starts,
            made: 0,
        };
        match self {
            Rival::Governor => block_on(governor(interval, &mut log)),
            Rival::Ratelimit => ratelimit(rate, &mut log),
            Rival::LeakyBucket => block_on(leaky_bucket(interval, &mut log)),
            Rival::Tokio => block_on(tokio_interval(interval, &mut log)),
        }
        log.made
    }
}

/// Where starts are noted.
struct Log<'run> {
    origin: Instant,
    patience: Duration,
    interval_ns: f64,
    starts: &'run mut [Start],
    made: usize,
}

impl Log<'_> {
    /// Notes a start; whether there is to be another one.
    fn note(&mut self) -> bool {
        let (index, elapsed) = (self.made, self.origin.elapsed());
        let actual_ns = u64::try_from(elapsed.as_nanos()).expect("a short run");
        let first_ns = if index == 0 { actual_ns } else { self.starts[0].actual_ns };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole nanoseconds"
        )]
        let after_ns = (float(index as u64) * self.interval_ns) as u64;
        self.starts[index] = Start { intended_ns: first_ns + after_ns, actual_ns };
        self.made += 1;
        self.made < self.starts.len() && elapsed < self.patience
    }
}

fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(work);
}

async fn governor(interval: Duration, log: &mut Log<'_>) {
    let limiter = RateLimiter::direct(Quota::with_period(interval).expect("an interval"));
    loop {
        limiter.until_ready().await;
        if !log.note() {
            break;
        }
    }
}

fn ratelimit(rate: Rate, log: &mut Log<'_>) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole rates")]
    let limiter = Ratelimiter::new(rate.as_hz() as u64);
    loop {
        while let Err(refused) = limiter.try_wait() {
            let TryWaitError::Insufficient(delay) = refused else { panic!("{refused}") };
            thread::sleep(delay);
        }
        if !log.note() {
            break;
        }
    }
}

const LEAST: Duration = Duration::from_millis(1);

async fn leaky_bucket(interval: Duration, log: &mut Log<'_>) {
    // It knows no interval below a millisecond: then so many tokens a millisecond.
    let refill = if interval < LEAST { LEAST.as_nanos() / interval.as_nanos() } else { 1 };
    let refill = usize::try_from(refill).expect("a rate that fits");
    let limiter =
        LeakyBucket::builder().initial(0).refill(refill).interval(interval.max(LEAST)).build();
    loop {
        limiter.acquire_one().await;
        if !log.note() {
            break;
        }
    }
}

async fn tokio_interval(interval: Duration, log: &mut Log<'_>) {
    let mut ticks = tokio::time::interval(interval);
    loop {
        ticks.tick().await;
        if !log.note() {
            break;
        }
    }
}
