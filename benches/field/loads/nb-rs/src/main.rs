//! nb-rs's limiter, of which `build` copies the files here, with tasks whose operations record that they start.
//!
//! nb-rs itself needs a target.

#![allow(dead_code, reason = "only a rate is asked for")]

mod limiter;
mod spec;

use anyhow::{Result, bail};
use limiter::RateLimiter;
use spec::RateSpec;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const TASKS: usize = 32;

/// What a limiter answers.
trait Answer {
    /// The wait time that is reported of an operation for which it was asked at `asked`.
    fn wait_time(self, asked: Instant) -> Duration;
}

/// The pool's backlog. The tool takes the time since it asked.
impl Answer for i64 {
    fn wait_time(self, asked: Instant) -> Duration {
        asked.elapsed()
    }
}

/// The intended start.
impl Answer for Instant {
    fn wait_time(self, _asked: Instant) -> Duration {
        self.elapsed()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, seconds] = &words[..] else { bail!("usage: load-nb-rs RATE SECONDS") };
    stamps::prepare();
    let end = Instant::now() + Duration::from_secs(seconds.parse()?);
    let limiter = Arc::new(RateLimiter::start(RateSpec::new(rate.parse()?)));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        tasks.spawn(work(Arc::clone(&limiter), end));
    }
    stamps::print(&mut tasks.join_all().await.concat());
    Ok(stamps::write()?)
}

/// The operation takes no time, so its wait time is its response time.
async fn work(limiter: Arc<RateLimiter>, end: Instant) -> Vec<Duration> {
    let mut times = Vec::new();
    loop {
        let asked = Instant::now();
        let wait_time = limiter.acquire().await.wait_time(asked);
        if Instant::now() >= end {
            return times;
        }
        stamps::stamp();
        times.push(wait_time);
    }
}
