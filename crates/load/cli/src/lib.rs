//! The program `nanopace` as a library: a load generator that starts every request on schedule and reports how late
//! each one was.
//!
//! Programs call [`main`]. Tests and fuzz targets call [`check`].

mod args;
mod habits;
mod manual;
mod target;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::thread;

/// The stack size in bytes that main threads usually have on Unix, unless `ulimit -s` sets a smaller one.
const STACK: usize = 8 << 20;

/// Runs the command that the command line names.
///
/// The exit status is
///
/// * 0 for success;
/// * 1 if the command failed after its start, usually because its results could not be written;
/// * 2 if the command line, or a file that it names, is invalid;
/// * 3 if a requirement was missed, no rate met the objective of a search, or a fleet lost slots or started slots
///   twice;
/// * 4 if the load is incomplete, a witness received too few requests, the list of a plan was interrupted, or a search
///   has no result because of the generator or an interrupt;
/// * 5 if the target or the store of a fleet cannot be reached;
/// * 130 if the command was interrupted before it produced a report.
///
/// # Panics
///
/// Panics if the command panics.
#[must_use]
pub fn main() -> ExitCode {
    outlive_long_files();
    let program = thread::Builder::new()
        .name("main".to_owned())
        .stack_size(STACK)
        .spawn(|| args::perform(env::args_os()));
    match program {
        Ok(program) => program.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: cannot start the main thread: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes writes beyond the file size limit (`ulimit -f`) fail. By default, `SIGXFSZ` would end the process.
fn outlive_long_files() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Reads a command line, whose first word is the program's name, without performing its command.
///
/// # Errors
///
/// Returns the error message, or the text that the command line asks for with `--help` or `--version`.
pub fn check(words: &[&str]) -> Result<(), String> {
    args::check(words.iter().map(OsString::from)).map_err(|error| error.to_string())
}
