//! A thread that sleeps until the alarm: for runtimes without a timer that is exact.

use super::alarm::Timer;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

/// A timer with a thread of its own, which sleeps until the alarm and wakes the task then. Works in
/// every runtime; a wake-up takes one more change of threads than a timer in the runtime's reactor.
#[derive(Debug)]
pub struct ThreadTimer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    alarm: Mutex<Alarm>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Alarm {
    set: Option<(Instant, Waker)>,
    is_over: bool,
}

impl ThreadTimer {
    /// Starts the thread; it ends when the timer is dropped.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn new() -> io::Result<ThreadTimer> {
        let shared = Arc::new(Shared::default());
        let name = "nanopace-timer".to_owned();
        let timer = ThreadTimer(Arc::clone(&shared));
        thread::Builder::new().name(name).spawn(move || shared.run())?;
        Ok(timer)
    }
}

impl Timer for ThreadTimer {
    fn set(&self, delay: Duration, waker: &Waker) {
        // A century is as good as never.
        let at = Instant::now() + delay.min(Duration::from_secs(1 << 31));
        self.0.change(|alarm| alarm.set = Some((at, waker.clone())));
    }

    fn wake_another(&self, waker: &Waker) {
        self.0.change(|alarm| {
            // Gone off already: at once.
            let at = alarm.set.take().map_or_else(Instant::now, |(at, _)| at);
            alarm.set = Some((at, waker.clone()));
        });
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        self.0.change(|alarm| alarm.is_over = true);
    }
}

impl Shared {
    fn change(&self, edit: impl FnOnce(&mut Alarm)) {
        edit(&mut self.alarm.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        while !alarm.is_over {
            let now = Instant::now();
            let left = alarm.set.as_ref().map(|(at, _)| at.saturating_duration_since(now));
            alarm = match left {
                Some(Duration::ZERO) => {
                    let set = alarm.set.take();
                    drop(alarm);
                    if let Some((_, waker)) = set {
                        waker.wake();
                    }
                    self.alarm.lock().unwrap_or_else(PoisonError::into_inner)
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(alarm, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(alarm).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
