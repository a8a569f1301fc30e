//! Tests that need the whole machine, or a terminal. Processes started at the same time would inherit the
//! terminal, so these tests have a test program of their own that starts little else.

#![cfg(unix)]

#[path = "../shared/command.rs"]
mod command;
#[path = "../shared/intervals.rs"]
mod intervals;
mod queue;
mod screen;
#[path = "../shared/sums.rs"]
mod sums;
mod terminal;
