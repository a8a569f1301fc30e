//! Defines the commands of the program `nanopace`, which loads HTTP servers: run, search, plan, calibrate, witness,
//! compare, merge and fleet.
//!
//! A program adds its own commands `C` and its embedded target `E`, which receives the load if the options name no
//! other target. Load generators with their own target call [`main`](crate::main) instead.

use crate::calibrate::Calibration;
use crate::calibrate::args::{self as calibrate_args, CalibrateArgs};
use crate::console::{config, help};
use crate::front::help as pages;
use crate::front::job::{self, Ended, FAILED, INCOMPLETE, refused};
use crate::front::program::{print, status, usage};
use crate::http;
use crate::http::args::{HttpRunArgs, HttpSearchArgs};
use crate::plan::Plan;
use crate::plan::args::{self as plan_args, PlanArgs};
use crate::running::compare::{self, CompareArgs};
use crate::running::fleet::args::{self as fleet_args, FleetCommand};
use crate::running::member::address::without_secret;
use crate::running::merge::{self, MergeArgs};
use crate::running::search::args as search_args;
use crate::witness::Witness;
use crate::witness::args::{self as witness_args, WitnessArgs};
use clap::builder::ArgPredicate;
use clap::error::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use nanopace::Rate;
use std::ffi::OsString;
use std::process::ExitCode;

pub use crate::http::embedded::{Embedded, EmbeddedTarget};
pub use crate::http::time_distribution::TimeDistribution;

const EXAMPLES: &str = "\
Examples:
  nanopace http://127.0.0.1:8080/ --rate 200/s -z 30s
  nanopace http://127.0.0.1:8080/ --shape \"ramp 10/s..300/s 1min, hold 5min\" --html ramp.html
  nanopace http://127.0.0.1:8080/ --rate 100/s --fail-if \"p99 response < 50ms\"
  nanopace search http://127.0.0.1:8080/ --until \"p99 response < 20ms\"
  nanopace compare before.json after.json

Write times as 500us, 20ms, 1.5s or 2min. 'nanopace --help' lists all options; 'nanopace help'
lists topics, such as rates, shapes and exit-codes.";

const RUN_EXAMPLES: &str = "\
Examples:
  nanopace run http://127.0.0.1:8080/ --rate 2k/s -c 64 -z 1min
  nanopace run --shape \"ramp 100/s..5k/s 30s, hold 60s\" --arrivals poisson
  nanopace run --rate 100 --duration 6s -c 2 --target-stall 2s@2s
  nanopace run --requests 1000 --json - | jq .response_time_ns.p99
  nanopace run --config run.toml --rate 10k/s

The word 'run' can be left out. 'nanopace run --help' lists all options; 'nanopace help' lists
topics.";

/// The default rate for the embedded target. Other targets get the default of `ScheduleArgs`, which is lower.
const EMBEDDED_RATE: &str = "5000/s";

/// Start HTTP requests on schedule and report how late they started.
#[derive(Parser)]
#[command(
    name = "nanopace",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = EXAMPLES
)]
struct Cli<C: Subcommand, E: EmbeddedTarget> {
    #[command(subcommand)]
    command: Option<Command<C, E>>,
    #[command(flatten)]
    run: HttpRunArgs<E>,
}

/// The commands of the program.
#[derive(Subcommand)]
enum Command<C: Subcommand, E: EmbeddedTarget> {
    /// Load an HTTP server at a given rate and report wait, service and response times.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<HttpRunArgs<E>>),
    /// Find the highest rate that meets an objective, such as p99 response < 20ms.
    #[command(after_help = search_args::HELP)]
    Search(Box<HttpSearchArgs<E>>),
    /// Draw a load without running it: its rate and its number of requests over time.
    #[command(after_help = plan_args::HELP)]
    Plan(Box<PlanArgs>),
    /// Measure this machine's clock, sleeps and starts, and recommend a pause strategy.
    #[command(after_help = calibrate_args::HELP)]
    Calibrate(CalibrateArgs),
    /// Serve HTTP and report how even the arriving load is: a test for any load generator.
    #[command(after_help = witness_args::HELP)]
    Witness(WitnessArgs),
    /// Compare the --json files of runs: which differences are larger than chance explains?
    #[command(after_help = compare::HELP)]
    Compare(CompareArgs),
    /// Merge the --json files of all parts of a load.
    #[command(after_help = merge::HELP)]
    Merge(MergeArgs),
    /// Watch and control a run that several machines share.
    #[command(subcommand, after_help = fleet_args::HELP)]
    Fleet(FleetCommand),
    #[command(flatten)]
    Other(C),
    /// Prints this text: a configuration or a help page.
    #[command(skip)]
    Print(String),
}

/// Returns the definition of the command line. The program may change it before it passes it to [`perform`].
#[must_use]
pub fn definition<C: Subcommand, E: EmbeddedTarget>() -> clap::Command {
    let nothing = clap::Command::new("nothing");
    let shortened = |command| help::hide_rare(command, &nothing);
    let definition = Cli::<C, E>::command().subcommand(pages::command());
    run_rate(shortened(definition)).mut_subcommands(|command| match command.get_name() {
        "run" => run_rate(shortened(command)),
        "search" => shortened(command),
        "plan" => plan_schedule(command),
        _ => command,
    })
}

fn run_rate(command: clap::Command) -> clap::Command {
    command.mut_arg("rate", |rate| {
        let default = rate.get_default_values().first().cloned().unwrap_or_default();
        let help = rate.get_help().map(ToString::to_string).unwrap_or_default();
        let help =
            format!("{help} [default: {}; embedded target {EMBEDDED_RATE}]", default.display());
        let servers =
            ["url", "targets", "scenario"].map(|id| (id, ArgPredicate::IsPresent, default.clone()));
        rate.default_value_ifs(servers)
            .default_value(EMBEDDED_RATE)
            .hide_default_value(true)
            .help(help)
    })
}

/// Adapts the options of a load to `plan`, which sends no requests. A closed loop has no schedule that could be drawn,
/// so `--rate` accepts only rates.
fn plan_schedule(command: clap::Command) -> clap::Command {
    let rate = "Draw the load at this rate, as in 50k/s or 3/min [see: help rates]";
    let seed = "Seed the random arrivals; the same seed gives the same arrivals";
    command
        .mut_arg("rate", |arg| arg.value_parser(value_parser!(Rate)).help(rate))
        .mut_arg("seed", |arg| arg.help(seed))
}

/// Parses a command line without performing its command. The first word is the program's name.
///
/// # Errors
///
/// Returns clap's error if the command line or its configuration file is invalid, or if it asks for help or the
/// version.
pub fn check<C, E>(definition: &clap::Command, words: Vec<OsString>) -> Result<()>
where
    C: Subcommand,
    E: EmbeddedTarget,
{
    read::<C, E>(definition, words).map(drop)
}

/// Performs the command of a command line, and prints errors. The first word is the program's name. `other` performs
/// the program's own commands: it gets the definition of the command line, including the options about configuration
/// files, and returns the text to print or an error.
///
/// Returns the exit status that [`main`](crate::main) describes.
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
        Ok(Command::Run(args)) if !args.load_files.is_empty() || args.versus.is_some() => {
            http::loads::setup(definition, *args).map_err(refused).and_then(job::run_loads)
        }
        Ok(Command::Run(args)) => http::setup(*args).map_err(refused).and_then(job::run),
        Ok(Command::Search(args)) => http::job(*args).map_err(refused).and_then(job::search),
        Ok(Command::Plan(args)) => plan(&args),
        Ok(Command::Calibrate(args)) => calibrate(&args),
        Ok(Command::Witness(args)) => witness(&args),
        Ok(Command::Compare(args)) => job::compare(&args),
        Ok(Command::Merge(args)) => job::merge(&args),
        Ok(Command::Fleet(command)) => job::fleet(&command),
        Ok(Command::Other(command)) => other(command, config::extended(definition))
            .map_err(|told| refused(anyhow::Error::msg(told)))
            .and_then(|text| print(&text)),
        Ok(Command::Print(text)) => print(text.as_bytes()),
        Err(error) => usage(&error),
    })
}

/// Reads the command from the command line. If the line names no command, it is `run`.
fn read<C, E>(definition: &clap::Command, words: Vec<OsString>) -> Result<Command<C, E>>
where
    C: Subcommand,
    E: EmbeddedTarget,
{
    let matches = config::matches(definition, words)?;
    if let Some(page) = pages::asked_for(definition, &matches)? {
        return Ok(Command::Print(page));
    }
    if let Some(config) = config::asked_for(definition, &matches)? {
        return Ok(Command::Print(without_secret(&config)));
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

fn plan(args: &PlanArgs) -> Ended {
    let plan = Plan::new(args).map_err(refused)?;
    // If writing one output fails, the other outputs are still written.
    let (shown, drawn, listed) = (plan.show(), plan.draw(), plan.list());
    let is_complete = shown.and(drawn).and(listed).map_err(|error| (FAILED, error.into()))?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

fn calibrate(args: &CalibrateArgs) -> Ended {
    let calibration = Calibration::new(args).map_err(refused)?;
    let results = calibration.run();
    calibration.publish(&results).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

fn witness(args: &WitnessArgs) -> Ended {
    let witness = Witness::new(args).map_err(refused)?;
    let evenness = witness.run();
    witness.publish(&evenness).map_err(|error| (FAILED, error.into()))?;
    Ok(if evenness.gaps.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
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
        let words = line.split_whitespace().map(|word| word.replace('_', " ").into()).collect();
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
            assert_eq!((args.connections.most, args.duration, args.requests), (16, None, None));
            assert_eq!(args.timeout, Duration::from_secs(10));
        }
    }

    #[test]
    fn a_real_server_gets_a_low_rate_by_default() {
        for (options, rate) in [
            ("--url http://127.0.0.1/", 50),
            ("--targets targets.txt", 50),
            ("--scenario shop.toml", 50),
            ("--url http://127.0.0.1/ --rate 5000", 5_000),
            ("--connections 3", 5_000),
        ] {
            for line in ["nanopace", "nanopace run"] {
                let args = run_args(&format!("{line} {options}"));
                assert_eq!(args.schedule.rate, Rate::per_second(rate).ok(), "{options}");
                assert_eq!(
                    args.settings.contains_key("rate_is_default"),
                    !options.contains("--rate")
                );
            }
        }
        let args = run_args("nanopace --url http://127.0.0.1/ --shape hold_7/s_1s");
        assert!(args.schedule.rate.is_none() && !args.settings.contains_key("rate_is_default"));
    }

    #[test]
    fn options_may_follow_the_command_or_stand_alone() {
        for line in ["nanopace run --connections 3", "nanopace --connections 3", "nanopace -c 3"] {
            assert_eq!(run_args(line).connections.most, 3);
        }
    }

    #[test]
    fn a_command_of_the_program_is_read_as_its_own() {
        let words = ["nanopace", "extra"].map(OsString::from).to_vec();
        let read = read::<Other, NoTarget>(&definition::<Other, NoTarget>(), words);
        assert!(matches!(read, Ok(Command::Other(Other::Extra))));
    }
}
