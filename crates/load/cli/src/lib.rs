//! The program `nanopace` as a library: a load generator that starts every request on schedule and
//! says how late it was.
//!
//! Only [`main`] is meant to be called. Everything else belongs to the program and changes with it.

mod args;
mod calibrate;
#[doc(hidden)]
pub mod fuzzing;
mod habits;
mod http;
mod manual;
#[doc(hidden)]
pub mod measuring;
mod plan;
mod target;

use args::{Cli, Command};
use calibrate::Calibration;
use calibrate::args::CalibrateArgs;
use http::args::{HttpRunArgs, HttpSearchArgs};
use manual::ManArgs;
use nanopace_load::console::refusal;
use nanopace_load::front::job::{self, Ended, FAILED, REFUSED};
use plan::Plan;
use plan::args::PlanArgs;
use std::env;
use std::io::{self, ErrorKind, Write};
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
    let program = thread::Builder::new().name("main".to_owned()).stack_size(STACK).spawn(perform);
    match program {
        Ok(program) => program.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
        Err(error) => failure(FAILED, &anyhow::Error::from(error).context("cannot start")),
    }
}

/// Lets a file that may not get longer (`ulimit -f`) be an error of writing it: without a handler, its
/// signal ends the process.
fn outlive_long_files() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

fn perform() -> ExitCode {
    let done = match Cli::read(env::args_os()) {
        Ok(Command::Run(args)) => run(*args),
        Ok(Command::Search(args)) => search(*args),
        Ok(Command::Plan(args)) => plan(&args),
        Ok(Command::Calibrate(args)) => calibrate(&args),
        Ok(Command::Compare(args)) => job::compare(&args),
        Ok(Command::Fleet(command)) => job::fleet(&command),
        Ok(Command::Completions(args)) => print(&manual::completions(&args, &args::definition())),
        Ok(Command::Man(args)) => man(&args),
        Ok(Command::PrintConfig(config)) => print(config.as_bytes()),
        Err(error) => usage(&error),
    };
    done.unwrap_or_else(|(status, error)| failure(status, &error))
}

fn failure(status: u8, error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(status)
}

/// Prints help and version as answers. Everything else that stops the parser becomes an error of
/// one line, or of three about a shape.
fn usage(error: &clap::Error) -> Ended {
    if !error.use_stderr() {
        return match error.print() {
            // Who closes the pipe has read enough of this page.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err((FAILED, error.into())),
            _ => Ok(ExitCode::SUCCESS),
        };
    }
    Err((REFUSED, anyhow::Error::msg(refusal::text(error))))
}

fn man(args: &ManArgs) -> Ended {
    print(&manual::man(args, &args::definition()).map_err(|error| (REFUSED, error))?)
}

fn print(text: &[u8]) -> Ended {
    io::stdout().write_all(text).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

fn run(args: HttpRunArgs) -> Ended {
    job::run(http::setup(args).map_err(|error| (REFUSED, error))?)
}

fn search(args: HttpSearchArgs) -> Ended {
    job::search(http::job(args).map_err(|error| (REFUSED, error))?)
}

fn plan(args: &PlanArgs) -> Ended {
    let plan = Plan::new(args).map_err(|error| (REFUSED, error))?;
    // What one place does not take, the others still get.
    let written = [plan.show(), plan.draw(), plan.list()];
    let written = written.into_iter().collect::<io::Result<()>>();
    written.map(|()| ExitCode::SUCCESS).map_err(|error| (FAILED, error.into()))
}

fn calibrate(args: &CalibrateArgs) -> Ended {
    let calibration = Calibration::new(args).map_err(|error| (REFUSED, error))?;
    let results = calibration.run();
    calibration.publish(&results).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}
