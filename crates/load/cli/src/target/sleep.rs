//! Provides accurate sleeps for thousands of tasks.
//!
//! Tokio's timers round up to milliseconds. The timers of async-io use their own thread, which takes twice the CPU time
//! of this module.

use nanopace_async::timer::Timer;
use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The interval after which the timer repeats an ignored wake-up. It is long, because the ringer always reacts.
const AGAIN: Duration = Duration::from_secs(3600);

/// The sleeping tasks. One timer wakes one task, the ringer, which wakes the tasks that are due.
#[derive(Debug)]
pub(super) struct Sleepers {
    numbers: AtomicU64,
    queue: Mutex<TimerQueue>,
}

#[derive(Debug)]
struct TimerQueue {
    timer: Box<dyn Timer>,
    ringer: Waker,
    waiting: BTreeMap<Place, Waker>,
}

type Place = (Instant, u64);

impl Sleepers {
    pub(super) fn start() -> io::Result<Arc<Sleepers>> {
        let queue =
            TimerQueue { timer: timer()?, ringer: Waker::noop().clone(), waiting: BTreeMap::new() };
        let sleepers = Arc::new(Sleepers { numbers: AtomicU64::new(0), queue: Mutex::new(queue) });
        let ringer = Arc::clone(&sleepers);
        tokio::spawn(poll_fn(move |context| {
            ringer.queue().ring(context.waker());
            Poll::<()>::Pending
        }));
        Ok(sleepers)
    }

    pub(super) async fn sleep(&self, time: Duration) {
        match Instant::now().checked_add(time) {
            Some(end) => {
                // Relaxed: each number must be unique. The number publishes no other data. No loom model: it is a
                // single atomic.
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                let sleeper = Sleeper { sleepers: self, place: (end, number) };
                poll_fn(|context| sleeper.poll(context)).await;
            }
            None => pending().await,
        }
    }

    fn queue(&self) -> MutexGuard<'_, TimerQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TimerQueue {
    fn ring(&mut self, ringer: &Waker) {
        self.ringer.clone_from(ringer);
        self.timer.went_off(ringer);
        let now = Instant::now();
        while let Some(first) = self.waiting.first_entry() {
            let (due, _) = *first.key();
            if due > now {
                self.timer.set(due - now, AGAIN, ringer);
                break;
            }
            first.remove().wake();
        }
    }

    fn join(&mut self, place: Place, left: Duration, task: &Waker) {
        self.waiting.insert(place, task.clone());
        if self.waiting.first_key_value().is_some_and(|(first, _)| *first == place) {
            self.timer.set(left, AGAIN, &self.ringer);
        }
    }
}

struct Sleeper<'a> {
    sleepers: &'a Sleepers,
    place: Place,
}

impl Sleeper<'_> {
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.sleepers.queue();
        let left = self.place.0.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Poll::Ready(());
        }
        queue.join(self.place, left, context.waker());
        Poll::Pending
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.sleepers.queue().waiting.remove(&self.place);
    }
}

#[cfg(target_os = "linux")]
fn timer() -> io::Result<Box<dyn Timer>> {
    Ok(Box::new(nanopace_async::timer::TokioTimer::new()?))
}

#[cfg(not(target_os = "linux"))]
fn timer() -> io::Result<Box<dyn Timer>> {
    Ok(Box::new(nanopace_async::timer::ThreadTimer::new()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::JoinSet;
    use tokio::time::timeout;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3600);

    impl Sleepers {
        pub(in super::super) fn waiting(&self) -> usize {
            self.queue().waiting.len()
        }
    }

    #[tokio::test]
    async fn every_task_wakes_and_none_wakes_early() {
        let sleepers = Sleepers::start().unwrap();
        let mut tasks = JoinSet::new();
        for time in (0..500).map(|n| Duration::from_micros(n * 7919 % 20_000)) {
            let sleepers = Arc::clone(&sleepers);
            tasks.spawn(async move {
                let start = Instant::now();
                sleepers.sleep(time).await;
                assert!(start.elapsed() >= time, "{time:?}");
            });
        }
        timeout(MINUTE, tasks.join_all()).await.unwrap();
        assert_eq!(sleepers.waiting(), 0);
    }

    #[tokio::test]
    async fn a_long_sleep_does_not_delay_a_shorter_one() {
        let sleepers = Sleepers::start().unwrap();
        for long in [HOUR, Duration::MAX] {
            let short = async {
                for _ in 0..10 {
                    sleepers.sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::select! {
                biased;
                () = sleepers.sleep(long) => panic!("{long:?} have not passed"),
                all = timeout(MINUTE, short) => all.unwrap(),
            }
        }
    }

    #[tokio::test]
    async fn a_dropped_sleep_removes_its_entry() {
        let sleepers = Sleepers::start().unwrap();
        assert!(timeout(Duration::from_millis(1), sleepers.sleep(HOUR)).await.is_err());
        assert_eq!(sleepers.waiting(), 0);
    }
}
