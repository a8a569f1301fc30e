//! The line of tasks on a clock and a timer that are moved by hand.

mod claims;
mod patience;
mod world;
