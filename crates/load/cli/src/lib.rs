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

/// Performs the command of the command line.
///
/// The exit status is 0 for success, 1 when the results could not be written, 2 when the command line is wrong (nothing
/// was started then), 3 when a requirement was missed, no rate met the objective of a search, or a fleet lost or doubled
/// slots, 4 when the load is incomplete, 5 when the target or the store of a fleet is out of reach, and 130 after an
/// interrupt while a fleet was awaited, or one more than it takes to end the job.
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

/// Reads a command line, whose first word is the program's name, without performing its command.
///
/// # Errors
///
/// The error message, or the help page that the command line asks for.
pub fn check(words: &[&str]) -> Result<(), String> {
    args::check(words.iter().map(OsString::from)).map_err(|error| error.to_string())
}
