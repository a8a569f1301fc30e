//! What the program reads, for the targets in `fuzz/`.

use crate::args::Cli;
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
