//! Provides timers that wake the first task of a queue when its slot is due.

mod alarms;
#[cfg(feature = "async-io")]
mod async_io;
mod thread;
#[cfg(all(feature = "tokio", target_os = "linux"))]
mod tokio;

pub use alarms::{Alarm, Alarms, Timer};
#[cfg(feature = "async-io")]
pub use async_io::AsyncIoTimer;
pub use thread::ThreadTimer;
#[cfg(all(feature = "tokio", target_os = "linux"))]
pub use tokio::TokioTimer;

use std::io;

/// Returns the best timer for the caller's runtime: on Linux inside a tokio runtime a timer in tokio's reactor, and
/// otherwise a thread. If the timer in the reactor cannot be created, returns a thread, too.
///
/// # Errors
/// Returns an error if the thread can't be started.
pub fn best() -> io::Result<Box<dyn Timer>> {
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    if let Ok(timer) = TokioTimer::new() {
        return Ok(Box::new(timer));
    }
    Ok(Box::new(ThreadTimer::new()?))
}
