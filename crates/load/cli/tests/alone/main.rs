//! The program where it has the machine, or a terminal. A terminal is inherited by whatever is started
//! beside it, so these tests have a test program that starts little else.

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
