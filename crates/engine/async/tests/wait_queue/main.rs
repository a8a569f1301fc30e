//! Tests the queue of tasks, on a clock and a timer that tests move, and in the runtimes of tokio and async-io.

#![cfg(feature = "pacer")]

#[cfg(feature = "async-io")]
mod async_io;
mod claims;
mod patience;
mod tokio;
mod world;
