//! Tests that need the whole machine, or a terminal. Processes that start at the same time would inherit the terminal.
//! So these tests have their own test program, which starts few other processes.

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
