//! Implements a timer as a thread that sleeps until the alarm, for runtimes without an exact timer.

use super::alarms::Timer;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

/// A timer with its own thread, which sleeps until the alarm and then wakes the task. The timer works in every runtime.
/// A wake-up takes one more context switch than with a timer in the runtime's reactor.
#[derive(Debug)]
pub struct ThreadTimer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    alarm: Mutex<Alarm>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Alarm {
    set: Option<(Instant, Duration, Waker)>,
    is_over: bool,
}

impl ThreadTimer {
    /// Starts the thread. The thread ends when the timer is dropped.
    ///
    /// # Errors
    /// Returns an error if the system cannot start another thread.
    pub fn new() -> io::Result<ThreadTimer> {
        let shared = Arc::new(Shared::default());
        let name = "nanopace-timer".to_owned();
        let timer = ThreadTimer(Arc::clone(&shared));
        thread::Builder::new().name(name).spawn(move || shared.run())?;
        Ok(timer)
    }
}

impl Timer for ThreadTimer {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        // Limited to 34 years, so that the sum can't overflow.
        let at = Instant::now() + delay.min(Duration::from_secs(1 << 30));
        self.0.change(|alarm| alarm.set = Some((at, again, waker.clone())));
    }

    fn stop(&self) {
        self.0.change(|alarm| alarm.set = None);
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        self.0.change(|alarm| alarm.is_over = true);
    }
}

impl Alarm {
    fn next(&mut self, now: Instant) -> Option<Waker> {
        let (at, again, waker) = self.set.as_mut()?;
        *at = now + *again;
        Some(waker.clone())
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
            let left = alarm.set.as_ref().map(|(at, ..)| at.saturating_duration_since(now));
            alarm = match left {
                Some(Duration::ZERO) => {
                    let waker = alarm.next(now);
                    drop(alarm);
                    waker.into_iter().for_each(Waker::wake);
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
