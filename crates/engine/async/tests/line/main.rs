//! The line of tasks on a clock and a timer that are moved by hand.

#![cfg(feature = "pacer")]

mod claims;
mod patience;
mod world;
