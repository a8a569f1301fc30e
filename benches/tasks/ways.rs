//! The ways to pace tasks. Each has `tasks` tasks that start until `span` is over.

use nanopace::{Grant, Pacer, Rate, Refused};
use nanopace_async::timer::{Timer, TokioTimer};
use nanopace_async::{AsyncLane, AsyncPacer};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval_at, sleep_until};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Bare,
    Line,
    Lanes,
    Claims,
    Channel,
    Interval,
    Governor,
    LeakyBucket,
}

impl Way {
    pub(crate) const ALL: [Way; 8] = [
        Way::Bare,
        Way::Line,
        Way::Lanes,
        Way::Claims,
        Way::Channel,
        Way::Interval,
        Way::Governor,
        Way::LeakyBucket,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Bare => "bare timerfd, one task",
            Way::Line => "nanopace-async",
            Way::Lanes => "nanopace-async, lanes",
            Way::Claims => "claim, tokio's sleep",
            Way::Channel => "blocking thread, channel",
            Way::Interval => "tokio's interval",
            Way::Governor => "governor until_ready",
            Way::LeakyBucket => "leaky-bucket",
        }
    }

    /// When each start came, since the beginning.
    pub(crate) async fn starts(self, rate: Rate, tasks: usize, span: Duration) -> Vec<Duration> {
        if self == Way::Bare {
            return bare(rate, span).await;
        }
        let begun = Instant::now();
        let mut set = JoinSet::new();
        for mut waiter in self.waiters(rate, tasks, span) {
            set.spawn(async move {
                let mut starts = Vec::new();
                while begun.elapsed() < span && waiter.start().await {
                    starts.push(begun.elapsed());
                }
                starts
            });
        }
        set.join_all().await.concat()
    }

    /// What each of the tasks waits by.
    fn waiters(self, rate: Rate, tasks: usize, span: Duration) -> Vec<Waiter> {
        let pacer = || Pacer::builder(rate).start_on_first_use().build();
        let line = || AsyncPacer::new(pacer()).expect("a timer");
        let repeat = |waiter: &dyn Fn() -> Waiter| (0..tasks).map(|_| waiter()).collect();
        match self {
            Way::Bare => Vec::new(),
            Way::Line => {
                let line = line();
                repeat(&|| Waiter::Line(line.clone()))
            }
            Way::Lanes => {
                let line = line();
                repeat(&|| Waiter::Lane(line.lane()))
            }
            Way::Claims => {
                let pacer = pacer();
                repeat(&|| Waiter::Claim(pacer.clone()))
            }
            Way::Channel => {
                let receiver = channel(pacer(), tasks, span);
                repeat(&|| Waiter::Channel(Arc::clone(&receiver)))
            }
            Way::Interval => intervals(interval(rate), tasks),
            Way::Governor => {
                let quota = governor::Quota::with_period(interval(rate)).expect("a period");
                let limiter = Arc::new(governor::RateLimiter::direct(quota));
                repeat(&|| Waiter::Governor(Arc::clone(&limiter)))
            }
            Way::LeakyBucket => {
                let limiter = Arc::new(leaky_bucket(rate));
                repeat(&|| Waiter::LeakyBucket(Arc::clone(&limiter)))
            }
        }
    }
}

enum Waiter {
    Line(AsyncPacer),
    Lane(AsyncLane),
    Claim(Pacer),
    Channel(Arc<Mutex<mpsc::Receiver<Grant>>>),
    Interval(Interval),
    Governor(Arc<governor::DefaultDirectRateLimiter>),
    LeakyBucket(Arc<leaky_bucket::RateLimiter>),
}

impl Waiter {
    /// One start; false when there are no more.
    async fn start(&mut self) -> bool {
        match self {
            Waiter::Line(line) => line.acquire().await.is_ok(),
            Waiter::Lane(lane) => lane.acquire().await.is_ok(),
            Waiter::Claim(pacer) => claimed(pacer).await,
            Waiter::Channel(receiver) => receiver.lock().await.recv().await.is_some(),
            Waiter::Interval(interval) => {
                interval.tick().await;
                true
            }
            Waiter::Governor(limiter) => {
                limiter.until_ready().await;
                true
            }
            Waiter::LeakyBucket(limiter) => {
                limiter.acquire_one().await;
                true
            }
        }
    }
}

fn interval(rate: Rate) -> Duration {
    Duration::from_secs_f64(rate.interval_ns() / 1e9)
}

/// Each task has an equal share of the intervals.
fn intervals(share: Duration, tasks: usize) -> Vec<Waiter> {
    let (begun, tasks) = (tokio::time::Instant::now(), u32::try_from(tasks).expect("some tasks"));
    let interval = |task| {
        let mut interval = interval_at(begun + share * (task + 1), share * tasks);
        interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Waiter::Interval(interval)
    };
    (0..tasks).map(interval).collect()
}

/// Refilled every millisecond, because that is what its timers can do.
fn leaky_bucket(rate: Rate) -> leaky_bucket::RateLimiter {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let each_ms = (rate.as_hz() / 1000.0).ceil() as usize;
    leaky_bucket::RateLimiter::builder()
        .refill(each_ms)
        .max(each_ms)
        .interval(Duration::from_millis(1))
        .build()
}

/// The claim's own advice until there was a crate for tasks: a timer of the runtime.
async fn claimed(pacer: &Pacer) -> bool {
    let Ok(mut claim) = pacer.claim() else { return false };
    loop {
        match claim.start() {
            Ok(_) => return true,
            Err(Refused::NotUntil(due)) => sleep_until(pacer.instant(due).into()).await,
            Err(_) => return false,
        }
    }
}

/// Slots from a thread that blocks.
fn channel(pacer: Pacer, tasks: usize, span: Duration) -> Arc<Mutex<mpsc::Receiver<Grant>>> {
    let (sender, receiver) = mpsc::channel(tasks);
    std::thread::spawn(move || {
        let begun = Instant::now();
        while begun.elapsed() < span
            && pacer.acquire().is_ok_and(|grant| sender.blocking_send(grant).is_ok())
        {}
    });
    Arc::new(Mutex::new(receiver))
}

/// One task and one timer, set for each interval in turn.
async fn bare(rate: Rate, span: Duration) -> Vec<Duration> {
    let timer = TokioTimer::new().expect("a timer");
    let (begun, interval) = (Instant::now(), interval(rate));
    let mut starts = Vec::new();
    for number in 1_u32.. {
        let due = interval * number;
        if due > span {
            break;
        }
        std::future::poll_fn(|context| {
            let left = due.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.set(left, context.waker());
            Poll::Pending
        })
        .await;
        starts.push(begun.elapsed());
    }
    starts
}
