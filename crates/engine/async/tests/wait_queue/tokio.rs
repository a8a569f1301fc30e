//! Tests the queue of tasks in tokio's runtimes: which slots are granted, and that all tasks end.

use futures_util::StreamExt;
use nanopace::{Grant, ManualClock, Pacer, Rate, Refused, Strictness};
use nanopace_async::timer::{Alarms, ThreadTimer, Timer};
use nanopace_async::{Acquire, AsyncPacer};
use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.worker_threads(2).enable_all().build().unwrap())
}

fn in_each_runtime(test: impl AsyncFn()) {
    for runtime in runtimes() {
        runtime.block_on(test());
    }
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

fn queues(pacer: &Pacer) -> [AsyncPacer; 2] {
    let own = AsyncPacer::new(pacer.clone()).unwrap();
    [own, AsyncPacer::with_timer(pacer.clone(), ThreadTimer::new().unwrap())]
}

fn start(queue: &AsyncPacer) -> impl Future<Output = Result<Grant, Refused>> + 'static {
    let queue = queue.clone();
    async move { queue.acquire().await }
}

fn poll_once(acquire: &mut Acquire<'_>) -> Option<Result<Grant, Refused>> {
    let poll = Pin::new(acquire).poll(&mut Context::from_waker(Waker::noop()));
    match poll {
        std::task::Poll::Ready(done) => Some(done),
        std::task::Poll::Pending => None,
    }
}

async fn taken(queue: &AsyncPacer, tasks: usize, each: usize) -> Vec<Grant> {
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        let queue = queue.clone();
        set.spawn(async move {
            let mut grants = Vec::new();
            for _ in 0..each {
                grants.push(queue.acquire().await.unwrap());
            }
            grants
        });
    }
    set.join_all().await.concat()
}

#[test]
fn every_slot_goes_to_one_task_and_none_is_early() {
    in_each_runtime(async || {
        for strictness in ["0", "1", "1.5"] {
            let strictness: Strictness = strictness.parse().unwrap();
            let pacer = Pacer::builder(rate("5k/s")).strictness(strictness).build();
            for queue in queues(&pacer) {
                let grants = taken(&queue, 8, 50).await;
                let starts: BTreeSet<_> = grants.iter().map(|g| g.intended_start()).collect();
                assert_eq!(starts.len(), 400);
                assert!(grants.iter().all(|g| g.actual_start() >= g.intended_start()));
            }
            assert_eq!(pacer.ledger().granted, 800);
        }
    });
}

#[test]
fn the_rate_is_exact_with_inexact_timers() {
    in_each_runtime(async || {
        for hz in [1_000, 50_000] {
            let queue = AsyncPacer::new(Pacer::new(Rate::per_second(hz).unwrap())).unwrap();
            let grants = taken(&queue, 16, usize::try_from(hz).unwrap() / 16 / 5).await;
            let last = grants.iter().map(|grant| grant.intended_start()).max().unwrap();
            let first = grants.iter().map(|grant| grant.intended_start()).min().unwrap();
            let slots = u32::try_from(grants.len()).unwrap() - 1;
            let interval = Duration::from_nanos(1_000_000_000 / hz);
            assert_eq!(last - first, interval * slots);
        }
    });
}

#[test]
fn cancelled_tasks_take_nothing_and_strand_no_task() {
    in_each_runtime(async || {
        let pacer = Pacer::new(rate("2k/s"));
        for queue in queues(&pacer) {
            let before = pacer.ledger().granted;
            let mut set = JoinSet::new();
            for task in 0..8_u64 {
                let queue = queue.clone();
                set.spawn(async move {
                    let mut had = 0_u64;
                    while had < 40 {
                        let patience = Duration::from_micros(100 + 150 * task);
                        match tokio::time::timeout(patience, queue.acquire()).await {
                            Ok(grant) => had += u64::from(grant.is_ok()),
                            Err(_elapsed) => drop(queue.acquire()),
                        }
                    }
                    had
                });
            }
            let had: u64 = set.join_all().await.into_iter().sum();
            assert_eq!(pacer.ledger().granted - before, had);
        }
    });
}

#[test]
fn a_change_of_rate_reaches_a_task_that_waits_for_an_hour() {
    in_each_runtime(async || {
        for timer in 0..2 {
            let pacer = Pacer::new(rate("1/h"));
            let queue = queues(&pacer)[timer].clone();
            queue.acquire().await.unwrap();
            let waiting = [(); 3].map(|()| tokio::spawn(start(&queue)));
            tokio::time::sleep(Duration::from_millis(20)).await;
            pacer.set_rate(rate("1k/s"));
            for task in waiting {
                task.await.unwrap().unwrap();
            }
            assert_eq!(pacer.ledger().granted, 4);
        }
    });
}

#[test]
fn a_close_ends_all_that_wait_and_the_stream() {
    in_each_runtime(async || {
        let pacer = Pacer::builder(rate("1/h")).start_paused().build();
        for queue in queues(&pacer) {
            assert_eq!(queue.try_acquire(), Err(Refused::Paused));
        }
        let queue = &queues(&pacer)[0];
        let mut waiting: Vec<_> = (0..3).map(|_| tokio::spawn(start(queue))).collect();
        let stream = queue.slots();
        let ended = tokio::spawn(async move { stream.count().await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        pacer.close();
        for task in waiting.drain(..) {
            assert_eq!(task.await.unwrap(), Err(Refused::Closed));
        }
        assert_eq!(ended.await.unwrap(), 0);
        assert_eq!(queue.acquire().await, Err(Refused::Closed));
    });
}

#[test]
fn a_schedule_that_ends_ends_all_that_wait() {
    in_each_runtime(async || {
        let pacer = Pacer::builder(rate("10k/s")).slots(200).build();
        for queue in queues(&pacer) {
            let mut set = JoinSet::new();
            for _ in 0..8 {
                let queue = queue.clone();
                set.spawn(async move {
                    let mut started = 0;
                    loop {
                        match queue.acquire().await {
                            Ok(_) => started += 1,
                            Err(refused) => return (started, refused),
                        }
                    }
                });
            }
            let ended = set.join_all().await;
            assert!(ended.iter().all(|&(_, refused)| refused == Refused::Finished));
            assert_eq!(queue.slots().count().await, 0);
        }
        assert_eq!(pacer.ledger().granted, 200);
    });
}

#[test]
fn the_other_branches_of_a_select_are_not_starved() {
    in_each_runtime(async || {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
        clock.advance(Duration::from_secs(3_600));
        let queue = AsyncPacer::new(pacer).unwrap();
        let other = tokio::spawn(async { tokio::task::yield_now().await });
        let mut other = pin!(other);
        let mut had = 0_u64;
        loop {
            tokio::select! {
                biased;
                grant = queue.acquire() => had += u64::from(grant.is_ok()),
                done = &mut other => { done.unwrap(); break; }
            }
            assert!(had < 1_000_000, "the other branch was never polled");
        }
    });
}

/// At 33k/s with average strictness, and at 100k/s with strict pacing, tasks spin for their slots.
#[test]
fn other_tasks_run_while_tasks_hold_on() {
    const STARTS: u32 = 3_000;
    for (text, strictness) in [("33k/s", Strictness::AVERAGE), ("100k/s", Strictness::STRICT)] {
        for runtime in runtimes() {
            runtime.block_on(async {
                let pacer = Pacer::builder(rate(text)).strictness(strictness).build();
                let queue = AsyncPacer::new(pacer).unwrap();
                let turns = Arc::new(AtomicU32::new(0));
                let other = tokio::spawn({
                    let turns = Arc::clone(&turns);
                    async move {
                        loop {
                            turns.fetch_add(1, Ordering::Relaxed);
                            tokio::task::yield_now().await;
                        }
                    }
                });
                for _ in 0..STARTS {
                    queue.acquire().await.unwrap();
                }
                let turns = turns.load(Ordering::Relaxed);
                assert!(turns >= STARTS / 66, "{text}: {turns} turns in {STARTS} starts");
                other.abort();
            });
        }
    }
}

#[test]
fn a_task_that_waits_returns_when_the_last_slot_is_taken_elsewhere() {
    in_each_runtime(async || {
        for way in 0..3 {
            let pacer = Pacer::builder(rate("1/h")).slots(2).build();
            let queue = AsyncPacer::new(pacer.clone()).unwrap();
            queue.acquire().await.unwrap();
            let waiting = tokio::spawn(start(&queue));
            tokio::time::sleep(Duration::from_millis(5)).await;
            let taken = match way {
                0 => pacer.claim().ok(),
                1 => pacer.claim_many(1).ok(),
                _ => {
                    let pacer = pacer.clone();
                    std::thread::spawn(move || pacer.acquire());
                    None
                }
            };
            assert_eq!(waiting.await.unwrap(), Err(Refused::Finished));
            drop(taken);
            pacer.close();
        }
    });
}

#[test]
fn a_deadline_that_cannot_be_met_is_reported_at_once_or_when_it_comes() {
    in_each_runtime(async || {
        let pacer = Pacer::new(rate("1/h"));
        let queue = AsyncPacer::new(pacer.clone()).unwrap();
        queue.acquire().await.unwrap();
        let soon = Duration::from_millis(10);
        assert!(matches!(queue.acquire_timeout(soon).await, Err(Refused::NotUntil(_))));
        let leader = tokio::spawn(start(&queue));
        tokio::time::sleep(soon).await;
        assert!(matches!(queue.acquire_timeout(soon).await, Err(Refused::NotUntil(_))));
        pacer.pause();
        assert_eq!(queue.acquire_timeout(soon).await, Err(Refused::Paused));
        assert_eq!(pacer.ledger().granted, 1);
        leader.abort();
    });
}

#[test]
fn rows_and_lanes_are_counted() {
    in_each_runtime(async || {
        let pacer = Pacer::new(rate("10k/s"));
        let pacing = AsyncPacer::new(pacer.clone()).unwrap();
        for n in [0, 1, 100] {
            pacing.acquire_many(n).await.unwrap();
        }
        assert_eq!(pacer.ledger().granted, 101);
        let mut lane = pacing.lane();
        for _ in 0..200 {
            lane.acquire().await.unwrap();
        }
        drop(lane);
        assert_eq!(pacer.ledger().granted, 301);
    });
}

#[test]
fn queues_of_two_runtimes_and_threads_share_a_pacer() {
    let pacer = Pacer::new(rate("4k/s"));
    std::thread::scope(|scope| {
        for runtime in runtimes() {
            let pacer = pacer.clone();
            scope.spawn(move || {
                runtime.block_on(async {
                    let queue = AsyncPacer::new(pacer).unwrap();
                    assert_eq!(taken(&queue, 4, 50).await.len(), 200);
                });
            });
        }
        let pacer = pacer.clone();
        scope.spawn(move || {
            for _ in 0..200 {
                pacer.acquire().unwrap();
            }
        });
    });
    assert_eq!(pacer.ledger().granted, 600);
}

#[test]
fn a_queue_outlives_the_runtime_of_its_timer() {
    let pacer = Pacer::new(rate("1k/s"));
    let [first, second] = runtimes();
    let queue = first.block_on(async { AsyncPacer::new(pacer.clone()).unwrap() });
    first.block_on(async { taken(&queue, 2, 5).await });
    drop(first);
    second.block_on(async { taken(&queue, 4, 25).await });
    assert_eq!(pacer.ledger().granted, 110);
}

#[test]
fn a_runtime_without_io_has_a_thread_for_a_timer() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        #[cfg(target_os = "linux")]
        {
            let refused = nanopace_async::timer::TokioTimer::new().expect_err("no I/O");
            assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
            assert!(refused.to_string().contains("enable_io"), "{refused}");
        }
        let queue = AsyncPacer::new(Pacer::new(rate("1k/s"))).unwrap();
        assert_eq!(taken(&queue, 2, 5).await.len(), 10);
    });
}

#[test]
fn a_future_that_is_not_polled_delays_no_other() {
    in_each_runtime(async || {
        let pacer = Pacer::new(rate("100/s"));
        for queue in queues(&pacer) {
            pacer.set_rate(rate("1/h"));
            while pacer.try_acquire().is_ok() {}
            let mut kept = queue.acquire();
            assert!(poll_once(&mut kept).is_none());
            let mut forgotten = Box::new(queue.acquire_timeout(Duration::from_secs(7_200)));
            assert!(poll_once(&mut forgotten).is_none());
            std::mem::forget(forgotten);
            pacer.set_rate(rate("100/s"));
            assert_eq!(taken(&queue, 4, 2).await.len(), 8);

            pacer.set_rate(rate("1/h"));
            while pacer.try_acquire().is_ok() {}
            let waiting = tokio::spawn(start(&queue));
            let late = queue.acquire_timeout(Duration::from_millis(20));
            assert!(matches!(late.await, Err(Refused::NotUntil(_))));
            pacer.set_rate(rate("100/s"));
            waiting.await.unwrap().unwrap();
            pacer.pause();
            let late = queue.acquire_timeout(Duration::from_millis(20));
            assert_eq!(late.await, Err(Refused::Paused));
            pacer.resume();
            drop(kept);
        }
        let queue = &queues(&pacer)[0];
        pacer.set_rate(rate("1/h"));
        while pacer.try_acquire().is_ok() {}
        let mut kept = queue.acquire();
        assert!(poll_once(&mut kept).is_none());
        let waiting = tokio::spawn(start(queue));
        tokio::time::sleep(Duration::from_millis(5)).await;
        pacer.close();
        assert_eq!(waiting.await.unwrap(), Err(Refused::Closed));
    });
}

fn polls_in_an_idle_queue(queue: &AsyncPacer, runtime: &Runtime) -> Arc<AtomicU32> {
    let polls = Arc::new(AtomicU32::new(0));
    let (counted, mut acquire) = (Arc::clone(&polls), Box::pin(start(queue)));
    drop(runtime.spawn(std::future::poll_fn(move |context| {
        counted.fetch_add(1, Ordering::Relaxed);
        acquire.as_mut().poll(context)
    })));
    polls
}

#[test]
fn an_idle_queue_is_idle_when_a_deadline_is_over_and_when_its_runtime_has_ended() {
    let [first, second] = runtimes();
    let pacer = Pacer::new(rate("1/h"));
    pacer.acquire().unwrap();
    let queue = first.block_on(async { AsyncPacer::new(pacer.clone()).unwrap() });
    let polls = polls_in_an_idle_queue(&queue, &second);
    let mut late = queue.acquire_timeout(Duration::from_secs(7_200));
    assert!(poll_once(&mut late).is_none());
    pacer.pause();
    let mut over = queue.acquire_timeout(Duration::from_millis(10));
    assert!(poll_once(&mut over).is_none());
    std::thread::sleep(Duration::from_millis(60));
    drop(first);
    std::thread::sleep(Duration::from_millis(100));
    let polled = polls.load(Ordering::Relaxed);
    assert!(polled < 50, "{polled}");
    pacer.resume();
    pacer.set_rate(rate("1k/s"));
    second.block_on(async { taken(&queue, 2, 5).await });
}

#[test]
fn a_future_that_has_completed_returns_the_same_again() {
    let [runtime, _] = runtimes();
    runtime.block_on(async {
        let pacer = Pacer::new(rate("1k/s"));
        let queue = AsyncPacer::new(pacer.clone()).unwrap();
        let mut acquire = queue.acquire();
        let grant = (&mut acquire).await;
        assert_eq!(acquire.await, grant);
        assert_eq!(pacer.ledger().granted, 1);
    });
}

struct Panics;

impl std::task::Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_strands_no_task() {
    let [_, runtime] = runtimes();
    runtime.block_on(async {
        let pacer = Pacer::new(rate("1/h"));
        let queue = AsyncPacer::new(pacer.clone()).unwrap();
        queue.acquire().await.unwrap();
        let before = tokio::spawn(start(&queue));
        tokio::time::sleep(Duration::from_millis(5)).await;
        let mut bad = [(); 3].map(|()| Box::pin(start(&queue)));
        let waker = Waker::from(Arc::new(Panics));
        for bad in &mut bad {
            assert!(bad.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let behind = tokio::spawn(start(&queue));
        tokio::time::sleep(Duration::from_millis(5)).await;
        pacer.close();
        assert_eq!(before.await.unwrap(), Err(Refused::Closed));
        assert_eq!(behind.await.unwrap(), Err(Refused::Closed));
    });
}

#[test]
fn a_waker_that_panics_stops_no_other_alarm() {
    let alarms = Alarms::new(ThreadTimer::new().unwrap());
    let mut bad = alarms.alarm();
    bad.set(Duration::ZERO, &Waker::from(Arc::new(Panics)));
    let (sender, woken) = mpsc::channel();
    let mut good = alarms.alarm();
    good.set(Duration::from_millis(20), &Waker::from(Arc::new(Tells(sender))));
    assert_eq!(woken.recv_timeout(Duration::from_secs(30)), Ok(()));
}

struct Tells(mpsc::Sender<()>);

impl std::task::Wake for Tells {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

/// If the time per deadline grew with the number of deadlines, this test would be slow.
#[test]
fn thousands_of_deadlines_can_wait() {
    let queue = AsyncPacer::with_timer(Pacer::new(rate("1/h")), Counting::default());
    let _ = poll_once(&mut queue.acquire());
    let hours = Duration::from_secs(36_000);
    let mut all: Vec<_> = (0..20_000).map(|_| queue.acquire_timeout(hours)).collect();
    assert!(all.iter_mut().all(|one| poll_once(one).is_none()));
    drop(all);
}

#[derive(Debug)]
struct Hasty;

impl Timer for Hasty {
    fn set(&self, delay: Duration, _: Duration, waker: &Waker) {
        let waker = waker.clone();
        std::thread::spawn(move || {
            (0..3).for_each(|_| waker.wake_by_ref());
            std::thread::sleep(delay);
            waker.wake();
        });
    }
    fn stop(&self) {}
}

#[test]
fn a_timer_that_wakes_too_early_makes_no_start_early() {
    in_each_runtime(async || {
        let pacer = Pacer::new(rate("2k/s"));
        let queue = AsyncPacer::with_timer(pacer, Hasty);
        let grants = taken(&queue, 4, 25).await;
        assert!(grants.iter().all(|grant| grant.actual_start() >= grant.intended_start()));
    });
}

#[derive(Debug, Default)]
struct Counting(Arc<AtomicU32>);

impl Timer for Counting {
    fn set(&self, _: Duration, _: Duration, _: &Waker) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&self) {}
}

#[test]
fn a_task_sleeps_between_slots_that_are_close() {
    let timer = Counting::default();
    let times_set = Arc::clone(&timer.0);
    let pacer = Pacer::builder(rate("100k/s")).clock(ManualClock::new()).build();
    let queue = AsyncPacer::with_timer(pacer, timer);
    assert!(poll_once(&mut queue.acquire()).is_some_and(|slot| slot.is_ok()));

    assert!(poll_once(&mut queue.acquire()).is_none());
    assert_eq!(times_set.load(Ordering::Relaxed), 1);
}

#[test]
fn no_timer_is_set_while_the_pacer_is_paused() {
    let timer = Counting::default();
    let times_set = Arc::clone(&timer.0);
    let queue = AsyncPacer::with_timer(Pacer::builder(rate("1/s")).start_paused().build(), timer);
    assert!(poll_once(&mut queue.acquire()).is_none());
    assert_eq!(times_set.load(Ordering::Relaxed), 0);
}
