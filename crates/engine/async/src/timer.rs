//! Timers that wake the first task of a line when its slot is due.

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

/// The best timer for the place where the caller runs: in tokio's reactor on Linux, otherwise a thread.
///
/// # Errors
/// When the thread can't be started.
pub fn best() -> io::Result<Box<dyn Timer>> {
    #[cfg(all(feature = "tokio", target_os = "linux"))]
    if let Ok(timer) = TokioTimer::new() {
        return Ok(Box::new(timer));
    }
    Ok(Box::new(ThreadTimer::new()?))
}
