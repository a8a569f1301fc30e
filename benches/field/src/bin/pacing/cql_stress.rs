//! cql-stress at a fixed rate.
//!
//! Its workers share a counter of nanoseconds. Each try of an operation adds the interval to it, cut to whole
//! nanoseconds, and waits by tokio's timer until so long after the beginning of the run. Response time counts
//! from that moment. A try after one that failed gets a moment of its own, and response time counts from there.

use crate::{Asked, TASKS};
use anyhow::Result;
use nanopace_async::AsyncPacer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// How long a try takes that fails. The others take no time.
const FAILURE: Duration = Duration::from_millis(50);

#[derive(Clone)]
enum Pace {
    Before(Arc<Counter>),
    After(AsyncPacer),
}

struct Counter {
    start: Instant,
    interval_ns: u64,
    next_ns: AtomicU64,
}

pub async fn run(asked: Asked) -> Result<Vec<Duration>> {
    let pace = if asked.is_after {
        Pace::After(asked.pacer()?)
    } else {
        Pace::Before(Arc::new(Counter {
            start: Instant::now(),
            interval_ns: (1e9 / asked.rate) as u64,
            next_ns: AtomicU64::new(0),
        }))
    };
    let mut workers = JoinSet::new();
    for _ in 0..TASKS {
        workers.spawn(work(pace.clone(), asked));
    }
    Ok(workers.join_all().await.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

async fn work(pace: Pace, asked: Asked) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for operation in 1.. {
        let mut intended = pace.until_start().await?;
        if Instant::now() >= asked.end {
            break;
        }
        stamps::stamp();
        if asked.one_in > 0 && operation % asked.one_in == 0 {
            sleep(FAILURE).await;
            intended = pace.until_retry(intended).await?;
            stamps::stamp();
        }
        times.push(intended.elapsed());
    }
    Ok(times)
}

impl Pace {
    /// Waits; from when on response time counts.
    async fn until_start(&self) -> Result<Instant> {
        match self {
            Pace::Before(counter) => Ok(counter.until_next().await),
            Pace::After(pacer) => {
                let grant = pacer.acquire().await?;
                Ok(Instant::now() - grant.wait_time())
            }
        }
    }

    /// The same for another try of an operation that counts from `first`.
    async fn until_retry(&self, first: Instant) -> Result<Instant> {
        let own = self.until_start().await?;
        Ok(if matches!(self, Pace::After(_)) { first } else { own })
    }
}

impl Counter {
    async fn until_next(&self) -> Instant {
        let offset = self.next_ns.fetch_add(self.interval_ns, Ordering::Relaxed);
        let intended = self.start + Duration::from_nanos(offset);
        sleep_until(intended).await;
        intended
    }
}
