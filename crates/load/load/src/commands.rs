//! The commands of the program `nanopace`: runs, searches, plans, calibrations, comparisons and fleets over HTTP.
//!
//! A program adds its own commands `C` and the server `E` that is loaded without a URL. Other programs call
//! [`main`](crate::main), which has no HTTP in it.

use crate::calibrate::Calibration;
use crate::calibrate::args::{self as calibrate_args, CalibrateArgs};
use crate::console::config;
use crate::front::job::{self, Ended, FAILED, refused};
use crate::front::program::{print, status, usage};
use crate::http;
use crate::http::args::{HttpRunArgs, HttpSearchArgs};
use crate::load::schedule::help::GRAMMAR;
use crate::plan::Plan;
use crate::plan::args::{self as plan_args, PlanArgs};
use crate::running::compare::{self, CompareArgs};
use crate::running::fleet::args::{self as fleet_args, FleetCommand};
use crate::running::member::address::without_password;
use crate::running::search::args as search_args;
use clap::error::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use nanopace::Rate;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

pub use crate::http::embedded::{Embedded, EmbeddedTarget};

const EXAMPLES: &str = "\
Examples:
  nanopace                                     embedded target, 5000/s, 10 s; same as nanopace run
  nanopace http://127.0.0.1:8080/ --rate 2k/s -c 64 -z 1min
  nanopace http://127.0.0.1:8080/ --rate max   as fast as answers come: no waiting is seen
  nanopace 'http://127.0.0.1:8080/{{user}}' --data users.csv
                                               a row for each request
  nanopace run --rate 100 --duration 6s -c 2 --target-stall 2s@2s
                                               what a stall does to response times
  nanopace run --requests 1000 --json - | jq .response_time_ns.p99
  nanopace run --html run.html --csv -         a page to look at, and a line each second
  nanopace run --fail-below 0.99               exit status 3 if the rate is missed
  nanopace run --config run.toml --rate 10k/s  options from a file; those given here win
  nanopace run --shape \"ramp 100/s..5k/s 30s, hold 60s\" --arrivals poisson
  nanopace plan --shape \"sine 1k/s..5k/s period 20s x3\"
                                               draws a load before anything runs
  nanopace search --url http://127.0.0.1:8080/ --until \"p99 response < 20ms\"
                                               the highest rate that keeps this
  nanopace compare before.json after.json      whether two runs differ by more than chance
  nanopace calibrate                           which rates and pauses suit this machine
  nanopace run --fleet redis://10.0.0.7/ --run checkout --nodes 4 --rate 10k/s
                                               four machines that make one load
  nanopace fleet status checkout               how such a fleet is; from anywhere

Write times as 500us, 20ms, 1.5s or 2min. During a run on a terminal, + and - change the
rate by 10 %, space pauses and resumes, a rate and Enter sets the rate, s asks for a shape,
and q or Ctrl-C ends the run with its report.

The exit status is 0 when all is well, 1 when results could not be written, 2 when what was
asked for cannot be done, 3 when a requirement was missed, 4 when the run was ended before
or in its warm-up or with slots overdue, or half of its slots never started, and 130 after an
interrupt without a report.";

/// A load generator that starts every request on schedule and says how late it was.
#[derive(Parser)]
#[command(name = "nanopace", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct Cli<C: Subcommand, E: EmbeddedTarget> {
    #[command(subcommand)]
    command: Option<Command<C, E>>,
    #[command(flatten)]
    run: HttpRunArgs<E>,
}

/// The commands.
#[derive(Subcommand)]
enum Command<C: Subcommand, E: EmbeddedTarget> {
    /// Drive an HTTP server at a given rate and report wait, service and response times.
    #[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{GRAMMAR}"))]
    Run(Box<HttpRunArgs<E>>),
    /// Find the highest rate at which a server keeps a promise, such as p99 response < 20ms.
    #[command(after_help = search_args::HELP)]
    Search(Box<HttpSearchArgs<E>>),
    /// Draw a load before anything runs: its rate over time, and when each request is to start.
    #[command(after_help = plan_args::EXAMPLES, after_long_help = plan_args::long_help())]
    Plan(Box<PlanArgs>),
    /// Measure this machine's clock, sleeps and starts, and recommend a way to pause.
    #[command(after_help = calibrate_args::HELP)]
    Calibrate(CalibrateArgs),
    /// Say whether runs differ by more than chance: A and B, by their --json files.
    #[command(after_help = compare::HELP)]
    Compare(CompareArgs),
    /// Look at a run that several machines make together, and change it.
    #[command(subcommand, after_help = fleet_args::HELP)]
    Fleet(FleetCommand),
    #[command(flatten)]
    Other(C),
    /// Print this configuration of a run.
    #[command(skip)]
    PrintConfig(String),
}

/// Returns the definition of the command line. The program may change it before it gives it to [`perform`].
#[must_use]
pub fn definition<C: Subcommand, E: EmbeddedTarget>() -> clap::Command {
    Cli::<C, E>::command().mut_subcommands(|command| match command.get_name() {
        // What is drawn has a schedule.
        "plan" => command.mut_arg("rate", |rate| rate.value_parser(value_parser!(Rate))),
        _ => command,
    })
}

/// Reads a command line, whose first word is the program's name, and performs no command.
///
/// # Errors
///
/// The command line is refused, or asks for help.
pub fn check<C, E>(definition: &clap::Command, words: Vec<OsString>) -> Result<()>
where
    C: Subcommand,
    E: EmbeddedTarget,
{
    read::<C, E>(definition, words).map(drop)
}

/// Performs the command of a command line, whose first word is the program's name, and shows errors. `other` returns
/// the text that a command of the program's own prints, or its error; it also gets the definition of the command line
/// with the options about configuration files.
///
/// The exit status is the one that [`main`](crate::main) describes.
pub fn perform<C, E>(
    definition: &clap::Command,
    words: Vec<OsString>,
    other: impl FnOnce(C, clap::Command) -> std::result::Result<Vec<u8>, String>,
) -> ExitCode
where
    C: Subcommand,
    E: EmbeddedTarget,
{
    status(match read::<C, E>(definition, words) {
        Ok(Command::Run(args)) => http::setup(*args).map_err(refused).and_then(job::run),
        Ok(Command::Search(args)) => http::job(*args).map_err(refused).and_then(job::search),
        Ok(Command::Plan(args)) => plan(&args),
        Ok(Command::Calibrate(args)) => calibrate(&args),
        Ok(Command::Compare(args)) => job::compare(&args),
        Ok(Command::Fleet(command)) => job::fleet(&command),
        Ok(Command::Other(command)) => other(command, config::extended(definition))
            .map_err(|told| refused(anyhow::Error::msg(told)))
            .and_then(|text| print(&text)),
        Ok(Command::PrintConfig(config)) => print(config.as_bytes()),
        Err(error) => usage(&error),
    })
}

/// Reads a command line, and the configuration file that it names. The command is `run` by default.
fn read<C, E>(definition: &clap::Command, words: Vec<OsString>) -> Result<Command<C, E>>
where
    C: Subcommand,
    E: EmbeddedTarget,
{
    let matches = config::matches(definition, words)?;
    if let Some(config) = config::asked_for(definition, &matches)? {
        return Ok(Command::PrintConfig(without_secret(&config)));
    }
    let Cli { command, run } = Cli::from_arg_matches(&matches)?;
    let mut command = command.unwrap_or_else(|| Command::Run(Box::new(run)));
    match &mut command {
        Command::Run(args) => args.settle(definition, &matches),
        Command::Plan(args) => drop(args.schedule.settle(config::is_set(&matches, "rate"))),
        _ => {}
    }
    Ok(command)
}

/// A configuration, without the password of a fleet's store: that can be in the environment.
fn without_secret(config: &str) -> String {
    let line = |line: &str| match line.strip_prefix("fleet = ") {
        Some(url) => format!("fleet = \"{}\"\n", without_password(url.trim_matches('"'))),
        None => format!("{line}\n"),
    };
    config.lines().map(line).collect()
}

fn plan(args: &PlanArgs) -> Ended {
    let plan = Plan::new(args).map_err(refused)?;
    // What one place does not take, the others still get.
    let written = [plan.show(), plan.draw(), plan.list()];
    let written = written.into_iter().collect::<io::Result<()>>();
    written.map(|()| ExitCode::SUCCESS).map_err(|error| (FAILED, error.into()))
}

fn calibrate(args: &CalibrateArgs) -> Ended {
    let calibration = Calibration::new(args).map_err(refused)?;
    let results = calibration.run();
    calibration.publish(&results).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::embedded::NoTarget;
    use crate::running::args::RunArgs;
    use std::time::Duration;

    #[derive(Subcommand)]
    enum Other {
        Extra,
    }

    fn run_args(line: &str) -> RunArgs {
        let words = line.split_whitespace().map(OsString::from).collect();
        match read::<Other, NoTarget>(&definition::<Other, NoTarget>(), words) {
            Ok(Command::Run(args)) => args.load,
            _ => panic!("{line} is a run"),
        }
    }

    #[test]
    fn the_defaults_are_the_main_job() {
        for line in ["nanopace", "nanopace run"] {
            let args = run_args(line);
            assert_eq!(args.schedule.rate, Rate::per_second(5_000).ok());
            assert_eq!((args.connections, args.duration, args.requests), (16, None, None));
            assert_eq!(args.timeout, Duration::from_secs(10));
        }
    }

    #[test]
    fn options_may_follow_the_command_or_stand_alone() {
        for line in ["nanopace run --connections 3", "nanopace --connections 3", "nanopace -c 3"] {
            assert_eq!(run_args(line).connections, 3);
        }
    }

    #[test]
    fn a_command_of_the_program_is_read_as_its_own() {
        let words = ["nanopace", "extra"].map(OsString::from).to_vec();
        let read = read::<Other, NoTarget>(&definition::<Other, NoTarget>(), words);
        assert!(matches!(read, Ok(Command::Other(Other::Extra))));
    }
}
