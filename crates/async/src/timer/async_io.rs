//! A timer in the reactor that smol and async-std share.

use super::alarm::Timer;
use futures_core::Stream;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

/// A timer in the reactor of async-io, which smol and async-std run on.
#[derive(Debug, Default)]
pub struct AsyncIoTimer(Mutex<Option<async_io::Timer>>);

impl AsyncIoTimer {
    /// A timer that is not set.
    #[must_use]
    pub fn new() -> AsyncIoTimer {
        AsyncIoTimer::default()
    }
}

impl Timer for AsyncIoTimer {
    fn set(&self, delay: Duration, waker: &Waker) {
        let mut timer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let timer = timer.insert(async_io::Timer::after(delay));
        if Pin::new(timer).poll_next(&mut Context::from_waker(waker)).is_ready() {
            waker.wake_by_ref();
        }
    }

    fn wake_another(&self, waker: &Waker) {
        let mut timer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut context = Context::from_waker(waker);
        let is_set = timer.as_mut().map(|timer| Pin::new(timer).poll_next(&mut context));
        if is_set.is_none_or(|poll| poll.is_ready()) {
            waker.wake_by_ref();
        }
    }
}
