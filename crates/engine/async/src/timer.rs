//! Provides timers of microsecond precision that wake async tasks.

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

/// Returns the best timer for the caller's runtime. With the feature `tokio`, on Linux and inside a tokio runtime, this
/// is a timer in tokio's reactor. Otherwise, or if that timer cannot be created, it is a timer with its own thread.
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
