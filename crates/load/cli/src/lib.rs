//! The program `nanopace` as a library: a load generator that starts every request on schedule and
//! says how late it was.
//!
//! Only [`main`] is meant to be called, and [`check`] by tests.

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

/// The stack of the program, which is the usual one whatever limit the main thread's has.
const STACK: usize = 8 << 20;

/// Does what the command line asks for.
///
/// The exit status is 0 when the job was done, 1 when its results could not be written, 2 when what
/// was asked for cannot be done (this is found before anything starts), 3 when the results are not
/// as `--fail-if` requires, a search has no answer or the account of a fleet does not close, 4 when the
/// run was ended before or in its warm-up or with slots overdue, or half of its slots never started, and
/// 130 after an interrupt while a fleet was awaited, or one more than it takes to end the job.
///
/// # Panics
///
/// As the program does.
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

/// Lets a file that may not get longer (`ulimit -f`) be an error of writing it: without a handler, its
/// signal ends the process.
fn outlive_long_files() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Reads a command line, the program's own name first, and does nothing.
///
/// # Errors
///
/// Why the program refuses it; or the text of a help page, if it asks for one.
pub fn check(words: &[&str]) -> Result<(), String> {
    args::check(words.iter().map(OsString::from)).map_err(|error| error.to_string())
}
