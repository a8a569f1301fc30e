//! Tests that need the whole machine, or a terminal. They have their own test program, which starts few other
//! processes, because processes that start at the same time would inherit the terminal.

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
