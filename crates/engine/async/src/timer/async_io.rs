//! Implements a timer in the reactor that smol and async-std share.

use super::alarms::Timer;
use futures_core::Stream;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// If the time of an alarm passes before the reactor waits for it, the alarm is set again with twice its delay, but at
/// least with twice this delay.
const LEAST: Duration = Duration::from_micros(10);

/// A timer in the reactor of async-io, which smol and async-std use.
#[derive(Debug, Default)]
pub struct AsyncIoTimer(Mutex<Option<async_io::Timer>>);

impl AsyncIoTimer {
    /// Creates a timer that is not set.
    #[must_use]
    pub fn new() -> AsyncIoTimer {
        AsyncIoTimer::default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<async_io::Timer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for AsyncIoTimer {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        let mut current = self.lock();
        // Limited to 34 years, so that the sum can't overflow.
        let mut delay = delay.min(Duration::from_secs(1 << 30));
        loop {
            let timer = current.insert(async_io::Timer::interval_at(Instant::now() + delay, again));
            if !is_over(timer, waker) {
                return;
            }
            delay = delay.max(LEAST) * 2;
        }
    }

    fn went_off(&self, waker: &Waker) {
        if let Some(timer) = &mut *self.lock() {
            while is_over(timer, waker) {}
        }
    }

    fn stop(&self) {
        *self.lock() = None;
    }
}

/// Returns whether the timer's time has passed. If not, the reactor wakes the waker at that time.
fn is_over(timer: &mut async_io::Timer, waker: &Waker) -> bool {
    Pin::new(timer).poll_next(&mut Context::from_waker(waker)).is_ready()
}
