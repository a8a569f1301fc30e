//! What wakes the leader of a line when its slot is due.

mod alarm;
#[cfg(feature = "async-io")]
mod async_io;
mod thread;
#[cfg(all(feature = "tokio", target_os = "linux"))]
mod tokio;

pub use alarm::Timer;
#[cfg(feature = "async-io")]
pub use async_io::AsyncIoTimer;
pub use thread::ThreadTimer;
#[cfg(all(feature = "tokio", target_os = "linux"))]
pub use tokio::TokioTimer;
