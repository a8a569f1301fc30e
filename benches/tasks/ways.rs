//! Implements the ways to pace tasks. In each way except the bare one, which has one task, `tasks` tasks start
//! operations until `span` has passed.

use nanopace::{Grant, Pacer, Rate, Refused};
use nanopace_async::{AsyncLane, AsyncPacer};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval_at, sleep};

#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: Duration,
    pub(crate) late: Option<Duration>,
}

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

    pub(crate) async fn starts(self, rate: Rate, tasks: usize, span: Duration) -> Vec<Start> {
        if self == Way::Bare {
            return bare(rate, span).await;
        }
        let begun = Instant::now();
        let mut set = JoinSet::new();
        for mut waiter in self.waiters(rate, tasks, span) {
            set.spawn(async move {
                let mut starts = Vec::new();
                while begun.elapsed() < span
                    && let Some(late) = waiter.start().await
                {
                    starts.push(Start { at: begun.elapsed(), late });
                }
                starts
            });
        }
        set.join_all().await.concat()
    }

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
                let pacer = pacer();
                let receiver = channel(pacer.clone(), tasks, span);
                repeat(&|| Waiter::Channel(Arc::clone(&receiver), pacer.clone()))
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
    Channel(Arc<Mutex<mpsc::Receiver<Grant>>>, Pacer),
    Interval(Interval),
    Governor(Arc<governor::DefaultDirectRateLimiter>),
    LeakyBucket(Arc<leaky_bucket::RateLimiter>),
}

impl Waiter {
    /// Returns the lateness of the start, if known, or `None` at the end.
    async fn start(&mut self) -> Option<Option<Duration>> {
        let lateness = |pacer: &Pacer, grant: Grant| Some(pacer.now() - grant.intended_start());
        match self {
            Waiter::Line(line) => {
                line.acquire().await.ok().map(|grant| lateness(line.pacer(), grant))
            }
            Waiter::Lane(lane) => {
                let grant = lane.acquire().await.ok()?;
                Some(lateness(lane.pacer(), grant))
            }
            Waiter::Claim(pacer) => claimed(pacer).await.map(|grant| lateness(pacer, grant)),
            Waiter::Channel(receiver, pacer) => {
                receiver.lock().await.recv().await.map(|grant| lateness(pacer, grant))
            }
            Waiter::Interval(interval) => {
                let due = interval.tick().await;
                Some(Some(due.elapsed()))
            }
            Waiter::Governor(limiter) => {
                limiter.until_ready().await;
                Some(None)
            }
            Waiter::LeakyBucket(limiter) => {
                limiter.acquire_one().await;
                Some(None)
            }
        }
    }
}

fn interval(rate: Rate) -> Duration {
    Duration::from_secs_f64(rate.interval_ns() / 1e9)
}

fn intervals(share: Duration, tasks: usize) -> Vec<Waiter> {
    let (begun, tasks) = (tokio::time::Instant::now(), u32::try_from(tasks).expect("some tasks"));
    let interval = |task| {
        let mut interval = interval_at(begun + share * (task + 1), share * tasks);
        interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Waiter::Interval(interval)
    };
    (0..tasks).map(interval).collect()
}

/// Returns a limiter that refills every millisecond, the resolution of its timers.
fn leaky_bucket(rate: Rate) -> leaky_bucket::RateLimiter {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let each_ms = (rate.as_hz() / 1000.0).ceil() as usize;
    leaky_bucket::RateLimiter::builder()
        .refill(each_ms)
        .max(each_ms)
        .interval(Duration::from_millis(1))
        .build()
}

async fn claimed(pacer: &Pacer) -> Option<Grant> {
    let mut claim = pacer.claim().ok()?;
    loop {
        match claim.start() {
            Ok(grant) => return Some(grant),
            Err(Refused::NotUntil(due)) => sleep(due - pacer.now()).await,
            Err(_) => return None,
        }
    }
}

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

async fn bare(rate: Rate, span: Duration) -> Vec<Start> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).expect("a timer");
    #[expect(deprecated, reason = "its replacement is unsafe, and this is sound for an OwnedFd")]
    let timer = AsyncFd::with_interest(timer, Interest::READABLE).expect("a reactor");
    let (begun, interval) = (Instant::now(), interval(rate));
    let mut starts = Vec::new();
    for number in 0_u32.. {
        let due = interval * number;
        if due > span {
            break;
        }
        let left = due.saturating_sub(begun.elapsed());
        if !left.is_zero() {
            settime(&timer, left);
            timer.readable().await.expect("a reactor").clear_ready();
        }
        let at = begun.elapsed();
        starts.push(Start { at, late: Some(at.saturating_sub(due)) });
    }
    starts
}

fn settime(timer: &AsyncFd<OwnedFd>, left: Duration) {
    let span = |span: Duration| Timespec {
        tv_sec: span.as_secs().try_into().expect("seconds"),
        tv_nsec: span.subsec_nanos().into(),
    };
    let once = Itimerspec { it_interval: span(Duration::ZERO), it_value: span(left) };
    timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once).expect("a time");
}
