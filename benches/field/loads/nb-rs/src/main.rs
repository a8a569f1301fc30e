//! Runs tasks that use the limiter of nb-rs, whose files `build` copies to this folder. Their operations record their
//! start. nb-rs itself needs a target.

#![allow(dead_code, reason = "only a rate is used")]

mod limiter;
mod spec;

use anyhow::{Result, bail};
use limiter::RateLimiter;
use spec::RateSpec;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const TASKS: usize = 32;

trait Answer {
    fn wait_time(self, asked: Instant) -> Duration;
}

/// The unchanged limiter returns its backlog instead of a time. For this limiter, the load reports the time since the
/// request, as nb-rs does.
impl Answer for i64 {
    fn wait_time(self, asked: Instant) -> Duration {
        asked.elapsed()
    }
}

/// The limiter with nanopace returns an intended start.
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

/// Returns response times, which are wait times because an operation takes no time.
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
