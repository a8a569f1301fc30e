//! The line of tasks: on a clock and a timer that are moved by hand, and in the runtimes of tokio and async-io.

#![cfg(feature = "pacer")]

#[cfg(feature = "async-io")]
mod async_io;
mod claims;
mod patience;
mod tokio;
mod world;
