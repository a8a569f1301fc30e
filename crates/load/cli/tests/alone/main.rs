//! Tests that need the whole machine, or a terminal. They are a separate test program, because a process that
//! another test starts while a terminal is being opened could inherit the terminal. This program starts few processes.

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
