//! nb-rs at a rate.
//!
//! A permit is a nanosecond, and an operation takes the interval's worth of them from a pool. A task fills the
//! pool every 10 ms, with the time since it did so last, up to a second's worth. What an operation waited for
//! permits is its wait time, and response time is that and service time together. What flows over, and comes
//! back at a burst ratio, is left out: it plays no part while operations wait.

use crate::{Asked, TASKS};
use anyhow::Result;
use nanopace_async::AsyncPacer;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

const REFILL: Duration = Duration::from_millis(10);
const MOST: usize = 1_000_000_000;

#[derive(Clone)]
enum Pace {
    Before { pool: Arc<Semaphore>, permits: u32 },
    After(AsyncPacer),
}

pub async fn run(asked: Asked) -> Result<Vec<Duration>> {
    let pace = if asked.is_after {
        Pace::After(asked.pacer()?)
    } else {
        let permits = (1e9 / asked.rate) as u32;
        let pool = Arc::new(Semaphore::new(permits as usize));
        tokio::spawn(fill(Arc::clone(&pool)));
        Pace::Before { pool, permits }
    };
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        tasks.spawn(work(pace.clone(), asked.end));
    }
    Ok(tasks.join_all().await.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

async fn fill(pool: Arc<Semaphore>) {
    let mut ticks = interval(REFILL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut last = Instant::now();
    loop {
        ticks.tick().await;
        let now = Instant::now();
        let elapsed_ns = (now - last).as_nanos() as usize;
        pool.add_permits(elapsed_ns.min(MOST.saturating_sub(pool.available_permits())));
        last = now;
    }
}

/// The operation takes no time, so its wait time is its response time.
async fn work(pace: Pace, end: Instant) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    loop {
        let wait_time = pace.until_start().await?;
        if Instant::now() >= end {
            return Ok(times);
        }
        stamps::stamp();
        times.push(wait_time);
    }
}

impl Pace {
    /// Waits; the wait time that is reported.
    async fn until_start(&self) -> Result<Duration> {
        match self {
            Pace::Before { pool, permits } => {
                let asked_at = Instant::now();
                pool.acquire_many(*permits).await?.forget();
                Ok(asked_at.elapsed())
            }
            Pace::After(pacer) => Ok(pacer.acquire().await?.wait_time()),
        }
    }
}
