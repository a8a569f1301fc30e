//! What a line asks of its timer.

use std::fmt;
use std::task::Waker;
use std::time::Duration;

/// A timer with one alarm. A line of tasks has one to itself, whatever its length.
///
/// The line calls it under its own lock, always with the same waker. A call must not wake that
/// waker itself, but let a thread or the runtime do so.
///
/// [`AsyncPacer::with_timer`](crate::AsyncPacer::with_timer) takes one.
pub trait Timer: fmt::Debug + Send + Sync + 'static {
    /// Sets the alarm: wakes `waker` after `delay`. Wakes it again before three times `again` have
    /// passed since then, and so on, until it is set anew or stopped. It may also wake at other
    /// times, but that does not replace the wake-up after `delay`.
    fn set(&self, delay: Duration, again: Duration, waker: &Waker);

    /// The waker has been woken, perhaps by this timer, which is to go on. For timers that have to
    /// be asked after each time.
    fn went_off(&self, waker: &Waker) {
        let _ = waker;
    }

    /// Nothing is to be woken until it is set again.
    fn stop(&self);
}

impl<T: Timer + ?Sized> Timer for Box<T> {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        (**self).set(delay, again, waker);
    }

    fn went_off(&self, waker: &Waker) {
        (**self).went_off(waker);
    }

    fn stop(&self) {
        (**self).stop();
    }
}
