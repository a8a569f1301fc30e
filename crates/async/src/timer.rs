//! What wakes the leader of a line when its slot is due.

#[cfg(feature = "async-io")]
mod async_io;
mod thread;
#[cfg(all(feature = "tokio", target_os = "linux"))]
mod tokio;

#[cfg(feature = "async-io")]
pub use async_io::AsyncIoTimer;
pub use thread::ThreadTimer;
#[cfg(all(feature = "tokio", target_os = "linux"))]
pub use tokio::TokioTimer;

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

/// The best timer for where the caller runs: the runtime's own if there is one that is known, else
/// a thread. A machine that has no thread left for it gets none, and an error.
pub(crate) fn best() -> std::io::Result<Box<dyn Timer>> {
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    if let Ok(timer) = TokioTimer::new() {
        return Ok(Box::new(timer));
    }
    Ok(Box::new(ThreadTimer::new()?))
}
