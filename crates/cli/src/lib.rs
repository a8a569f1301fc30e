//! The program `nanopace` as a library: a load generator that starts every request on schedule and
//! says how late it was.
//!
//! Its own [`main`] is all that there is to call. What lies behind it is the program's, and changes
//! as the program does.

mod args;
mod books;
mod calibrate;
mod client;
mod conductor;
mod control;
mod course;
mod cpu;
mod crew;
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod hdr_log;
mod json;
mod keys;
mod plan;
mod progress;
mod recorder;
mod report;
mod run;
mod span;
mod summary;
mod tally;
mod target;
mod terminal;
mod verdict;
mod worker;

use args::{CalibrateArgs, Cli, Command, RunArgs};
use calibrate::Calibration;
use clap::Parser;
use control::Interrupt;
use nanopace_console::Output;
use nanopace_trial::LimitArgs;
use plan::Plan;
use report::Report;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use summary::Summary;

const FAILED: u8 = 1;
const REFUSED: u8 = 2;
const RATE_MISSED: u8 = 3;

/// Does what the command line asks for.
///
/// Exit status: 0 when the job was done, 1 when its results could not be written, 2 when what was
/// asked for can't be done (found before anything starts), 3 when `--fail-below` says that the rate
/// was missed, 130 when interrupted twice.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => match cli.into_command() {
            Command::Run(args) => run(*args),
            Command::Calibrate(args) => calibrate(&args),
            Command::Limit(args) => limit(*args),
        },
        Err(error) => usage(&error),
    };
    done.unwrap_or_else(|(status, error)| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(status)
    })
}

/// An exit status, or one with the error to be shown.
type Done = Result<ExitCode, (u8, anyhow::Error)>;

/// Help and version are answers; everything else that stops the parser is an error of one line.
fn usage(error: &clap::Error) -> Done {
    if !error.use_stderr() {
        return quietly(error.print())
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| (FAILED, error.into()));
    }
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let told = told.join("; ");
    Err((REFUSED, anyhow::Error::msg(told.trim_start_matches("error: ").to_owned())))
}

fn run(args: RunArgs) -> Done {
    let mut plan = Plan::new(args).map_err(|error| (REFUSED, error))?;
    let hdr = plan.hdr.take();
    let summary = run::run(&plan, hdr).map_err(|error| (FAILED, error))?;
    quietly(publish(&plan.output, &summary)).map_err(|error| (FAILED, error.into()))?;
    let missed = plan.args.fail_below.is_some_and(|least| summary.ratio < least);
    Ok(if missed { ExitCode::from(RATE_MISSED) } else { ExitCode::SUCCESS })
}

fn calibrate(args: &CalibrateArgs) -> Done {
    let calibration = Calibration::new(args).map_err(|error| (REFUSED, error))?;
    let results = calibration.run();
    quietly(calibration.publish(&results)).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

fn limit(args: LimitArgs) -> Done {
    let (unheard, _) = mpsc::channel();
    let interrupt = Interrupt::on_signals(unheard).map_err(|error| (REFUSED, error))?;
    match nanopace_trial::run(args, interrupt.flag()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(nanopace_trial::Error::Input(error)) => Err((REFUSED, error)),
        Err(nanopace_trial::Error::Output(error)) => {
            quietly(Err(error)).map(|()| ExitCode::SUCCESS).map_err(|error| (FAILED, error.into()))
        }
    }
}

fn publish(output: &Output, summary: &Summary) -> io::Result<()> {
    output.write_json(|| json::Object::new(summary))?;
    output.write_text(&Report(summary))
}

/// Whoever closed the pipe has seen enough: that is no error.
fn quietly(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
