//! Tests the queue of tasks with a clock and a timer that the tests move.

#![cfg(feature = "pacer")]

mod claims;
mod patience;
mod world;
