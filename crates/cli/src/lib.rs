//! The program `nanopace` as a library: a load generator that starts every request on schedule and
//! says how late it was.
//!
//! Only [`main`] is meant to be called. Everything else belongs to the program and changes with it.

mod alternate;
mod args;
mod axis;
mod calibrate;
mod config;
mod console;
mod fleet;
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod interrupt;
mod limit;
mod percentiles;
mod plan;
mod refusal;
mod run;
mod schedule;
mod search;
mod target;
mod times;

use args::{Cli, Command};
use calibrate::Calibration;
use calibrate::args::CalibrateArgs;
use fleet::args::FleetCommand;
use fleet::whole::{Whole, WholeObject};
use interrupt::Interrupt;
use limit::LimitArgs;
use plan::Plan;
use plan::args::PlanArgs;
use run::args::RunArgs;
use run::member::Member;
use run::reporting::json;
use run::reporting::page;
use run::reporting::report::{MissedLines, Report};
use run::reporting::summary::Summary;
use run::setup::Setup;
use run::{NotJoined, Ran};
use search::Job;
use search::args::SearchArgs;
use std::env;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::panic;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::thread;

const FAILED: u8 = 1;
const REFUSED: u8 = 2;
const MISSED: u8 = 3;
const INCOMPLETE: u8 = 4;

/// The stack of the program, which is the usual one whatever limit the main thread's has.
const STACK: usize = 8 << 20;

/// Does what the command line asks for.
///
/// The exit status is 0 when the job was done, 1 when its results could not be written, 2 when what
/// was asked for cannot be done (this is found before anything starts), 3 when the results are not
/// as `--fail-if` requires, a search has no answer or the account of a fleet does not close, 4 when the
/// run was ended with slots overdue or half of its slots never started, and 130 after an interrupt while
/// a fleet was awaited, or one more than it takes to end the job.
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
        Ok(Command::Limit(args)) => limit(*args),
        Ok(Command::Fleet(command)) => fleet(&command),
        Ok(Command::PrintConfig(config)) => print(&config),
        Err(error) => usage(&error),
    };
    done.unwrap_or_else(|(status, error)| failure(status, &error))
}

fn failure(status: u8, error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(status)
}

/// An exit status; for a failure, together with the error to show.
type Done = Result<ExitCode, (u8, anyhow::Error)>;

/// Prints help and version as answers. Everything else that stops the parser becomes an error of
/// one line, or of three about a shape.
fn usage(error: &clap::Error) -> Done {
    if !error.use_stderr() {
        return match error.print() {
            // Who closes the pipe has read enough of this page.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err((FAILED, error.into())),
            _ => Ok(ExitCode::SUCCESS),
        };
    }
    Err((REFUSED, anyhow::Error::msg(refusal::text(error))))
}

fn print(text: &str) -> Done {
    io::stdout().write_all(text.as_bytes()).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

fn run(args: RunArgs) -> Done {
    let mut setup = Setup::new(args).map_err(|error| (REFUSED, error))?;
    let logs = mem::take(&mut setup.logs);
    let status = |error: &anyhow::Error| if error.is::<NotJoined>() { REFUSED } else { FAILED };
    let ran = run::run(&setup, logs).map_err(|error| (status(&error), error))?;
    let Some((mut ran, member)) = ran else { return Ok(ExitCode::from(interrupt::INTERRUPTED)) };
    let (written, finished) = publish(&setup, &mut ran, member);
    written.map_err(|error| (FAILED, error.into()))?;
    ran.logged.map_err(|error| (FAILED, error))?;
    let whole = finished.map_err(|error| (FAILED, error))?;
    let is_well = whole.is_none_or(|whole| whole.is_well());
    let is_as_required = ran.summary.missed.is_empty() && is_well;
    Ok(match ran.summary.incomplete {
        _ if !is_as_required => ExitCode::from(MISSED),
        Some(_) => ExitCode::from(INCOMPLETE),
        None => ExitCode::SUCCESS,
    })
}

fn search(args: SearchArgs) -> Done {
    let mut job = Job::new(args).map_err(|error| (REFUSED, error))?;
    let results = job.run().map_err(|error| (FAILED, error))?;
    let written = job.publish(&results).into_iter().collect::<io::Result<()>>();
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(if results.is_answer() { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

fn plan(args: &PlanArgs) -> Done {
    let plan = Plan::new(args).map_err(|error| (REFUSED, error))?;
    // What one place does not take, the others still get.
    let written = [plan.show(), plan.draw(), plan.list()];
    let written = written.into_iter().collect::<io::Result<()>>();
    written.map(|()| ExitCode::SUCCESS).map_err(|error| (FAILED, error.into()))
}

fn calibrate(args: &CalibrateArgs) -> Done {
    let calibration = Calibration::new(args).map_err(|error| (REFUSED, error))?;
    let results = calibration.run();
    calibration.publish(&results).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

fn limit(args: LimitArgs) -> Done {
    let interrupt = Interrupt::on_signals(1, || ()).map_err(|error| (REFUSED, error))?;
    match limit::run(args, interrupt.flag()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(limit::Error::Input(error)) => Err((REFUSED, error)),
        Err(limit::Error::Output(error)) => Err((FAILED, error.into())),
    }
}

fn fleet(command: &FleetCommand) -> Done {
    let (written, is_well) = fleet::perform(command).map_err(|error| (REFUSED, error))?;
    written.map_err(|error| (FAILED, error.into()))?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// Writes the results to all places. What one does not take, the others still get. Then tells the
/// store of a fleet, waits for its other nodes, and also writes what all have done. What is required of a node
/// is required of all together, unless it leaves before.
fn publish(
    setup: &Setup,
    ran: &mut Ran,
    member: Option<Member>,
) -> (io::Result<()>, anyhow::Result<Option<Whole>>) {
    let text = setup.output.write_text(&Report(&ran.summary));
    let node = member.as_ref().map(ToString::to_string);
    let finished = member.map_or(Ok(None), |member| finish(setup, ran, member));
    let text = text.and(match (&finished, node) {
        (Ok(Some(whole)), Some(node)) => {
            setup.output.write_text(&format!("fleet     {node} is done\n\n{whole}"))
        }
        (Ok(None), Some(node)) => setup.output.write_text(&format!(
            "fleet     {node} is done; nanopace fleet report shows all of them together\n{}",
            MissedLines(&ran.summary.missed)
        )),
        _ => Ok(()),
    });
    let whole = finished.as_ref().ok().and_then(Option::as_ref);
    (written(setup, &ran.summary, text, whole), finished)
}

/// Tells the fleet what this node has done. What all have done, unless the fleet goes on.
fn finish(setup: &Setup, ran: &mut Ran, member: Member) -> anyhow::Result<Option<Whole>> {
    let criteria = setup.args.criteria();
    let Some((at, control)) = member.finish(&ran.summary.stats, ran.not_started)? else {
        ran.summary.require(&criteria);
        return Ok(None);
    };
    let mut whole = Whole::read(&control, &at.name).map_err(|error| at.told(error))?;
    whole.require(&criteria);
    Ok(Some(whole))
}

fn written(
    setup: &Setup,
    summary: &Summary,
    text: io::Result<()>,
    whole: Option<&Whole>,
) -> io::Result<()> {
    let page = setup.html.as_ref().map(|file| file.write_text(&page::html(summary)));
    let json = setup.output.write_json(|| json::Object::new(summary, whole.map(WholeObject::new)));
    page.unwrap_or(Ok(()))
        .map_err(|error| io::Error::other(format!("cannot write --html: {error}")))?;
    json.map_err(|error| io::Error::other(format!("cannot write --json: {error}")))?;
    text.map_err(|error| io::Error::other(format!("cannot write the report: {error}")))
}
