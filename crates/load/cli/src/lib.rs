//! The program `nanopace` as a library: a load generator that starts every request on schedule and
//! reports how late each one was.
//!
//! Programs call [`main`]; [`check`] is for tests.

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

/// The stack size of the thread that runs the program: the usual size, whatever the limit of the main thread.
const STACK: usize = 8 << 20;

/// Runs the command of the command line.
///
/// The exit status is
///
/// - 0 if the job was done,
/// - 1 if its results could not be written,
/// - 2 if the request is invalid, which is found before anything starts,
/// - 3 if the results miss a requirement of `--fail-if`, a search has no result, or the account of a fleet does not
///   close,
/// - 4 if the run was ended before or in its warm-up or with slots overdue, or half of its slots never started,
/// - 130 after an interrupt while waiting for a fleet, or after one interrupt more than are needed to end the job.
///
/// # Panics
///
/// The program panics.
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
            let _ = writeln!(io::stderr(), "error: cannot start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Turns a file that reaches its size limit (`ulimit -f`) into a write error: without a handler, the signal
/// `SIGXFSZ` ends the process.
fn outlive_long_files() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Parses a command line, which begins with the program's name, without running it.
///
/// # Errors
///
/// The command line is invalid, or asks for a help page: the message or the text of the page.
pub fn check(words: &[&str]) -> Result<(), String> {
    args::check(words.iter().map(OsString::from)).map_err(|error| error.to_string())
}
