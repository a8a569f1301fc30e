//! What a line asks of its timer.

use std::fmt;
use std::task::Waker;
use std::time::Duration;

/// A timer with one alarm. A line of tasks has one to itself, whatever its length.
///
/// ```
/// use nanopace::{Pacer, Rate};
/// use nanopace_async::AsyncPacer;
/// use nanopace_async::timer::ThreadTimer;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = Pacer::new(Rate::per_second(1_000)?);
/// let line = AsyncPacer::with_timer(pacer, ThreadTimer::new()?);
/// # let _ = line;
/// # Ok(())
/// # }
/// ```
pub trait Timer: fmt::Debug + Send + Sync + 'static {
    /// Sets the alarm: wakes `waker` after `delay`, once, and forgets what it was set to before. It
    /// may wake too often, at any time; it must never forget to.
    fn set(&self, delay: Duration, waker: &Waker);

    /// The alarm stays as it is set, and wakes `waker` instead. If it has gone off already, it
    /// wakes `waker` at once.
    fn wake_another(&self, waker: &Waker);
}

impl<T: Timer + ?Sized> Timer for Box<T> {
    fn set(&self, delay: Duration, waker: &Waker) {
        (**self).set(delay, waker);
    }

    fn wake_another(&self, waker: &Waker) {
        (**self).wake_another(waker);
    }
}
