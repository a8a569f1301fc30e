//! What the program reads, for the targets in `fuzz/`.

use crate::args::Cli;
use crate::limit;
use clap::Parser;

pub use nanopace_load::front::fuzzing::press_keys;

/// Reads a command line, the program's own name first.
///
/// # Errors
///
/// What the program would say about it.
pub fn command_line(words: &[&str]) -> Result<(), String> {
    Cli::try_parse_from(words)
        .map(|cli| drop(cli.into_command()))
        .map_err(|error| error.to_string())
}

/// Reads a line of requests, as `nanopace limit` does.
///
/// # Errors
///
/// What the program would say about the line.
pub fn request_line(line: &[u8]) -> Result<(), String> {
    limit::request::parse(line).map(drop).map_err(|error| format!("{error:#}"))
}
