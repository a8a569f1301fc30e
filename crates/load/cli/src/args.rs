//! The command line: its commands, and the text of their help.

use crate::calibrate::args::{self as calibrate_args, CalibrateArgs};
use crate::habits;
use crate::http::args::{HttpRunArgs, HttpSearchArgs};
use crate::manual::{self, CompletionsArgs, ManArgs};
use crate::plan::args::{self as plan_args, PlanArgs};
use clap::error::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use nanopace::Rate;
use nanopace_load::console::config;
use nanopace_load::load::schedule::help::GRAMMAR;
use nanopace_load::running::compare::{self, CompareArgs};
use nanopace_load::running::fleet::args::{self as fleet_args, FleetCommand};
use nanopace_load::running::member::address::without_password;
use nanopace_load::running::search::args as search_args;
use std::ffi::{OsStr, OsString};

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
#[derive(Debug, Parser)]
#[command(name = "nanopace", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: HttpRunArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Drive an HTTP server at a given rate and report wait, service and response times.
    #[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{GRAMMAR}"))]
    Run(Box<HttpRunArgs>),
    /// Find the highest rate at which a server keeps a promise, such as p99 response < 20ms.
    #[command(after_help = search_args::HELP)]
    Search(Box<HttpSearchArgs>),
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
    /// Print what a shell needs to complete commands and options.
    #[command(after_help = manual::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print a page for man.
    #[command(after_help = manual::MAN)]
    Man(ManArgs),
    /// Print this configuration of a run.
    #[command(skip)]
    PrintConfig(String),
}

/// The definition of the command line.
pub(crate) fn definition() -> clap::Command {
    habits::added(Cli::command()).mut_subcommands(|command| match command.get_name() {
        // What is drawn has a schedule.
        "plan" => command.mut_arg("rate", |rate| rate.value_parser(value_parser!(Rate))),
        _ => command,
    })
}

impl Cli {
    /// Reads a command line, the program's own name first, and the configuration file that it
    /// names.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Command> {
        let definition = definition();
        let words = habits::with_url(&definition, with_negatives(words));
        let matches = config::matches(&definition, words)?;
        if let Some(config) = config::asked_for(&definition, &matches)? {
            return Ok(Command::PrintConfig(without_secret(&config)));
        }
        let mut command = Cli::from_arg_matches(&matches).map(Cli::into_command)?;
        match &mut command {
            Command::Run(args) => args.settle(&definition, &matches),
            Command::Plan(args) => drop(args.schedule.settle(config::is_set(&matches, "rate"))),
            _ => {}
        }
        Ok(command)
    }

    /// The command that was given; `run` by default.
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or_else(|| Command::Run(Box::new(self.run)))
    }
}

/// The words of a command line, where a number below zero belongs to the option before it. So its value
/// is refused, and not the option that it looks like.
fn with_negatives(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        match joined.last_mut().filter(|option| is_negative(&word) && takes_next(option)) {
            Some(option) => option.extend([OsString::from("="), word]),
            None => joined.push(word),
        }
    }
    joined
}

fn is_negative(word: &OsStr) -> bool {
    let number = word.to_str().and_then(|word| word.strip_prefix('-'));
    let number = number.map(|number| number.strip_prefix('.').unwrap_or(number));
    number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Whether this is an option, and its value no part of it.
fn takes_next(word: &OsStr) -> bool {
    let name = word.to_str().map(|word| word.trim_start_matches('-')).unwrap_or_default();
    let is_option = word.as_encoded_bytes().starts_with(b"-") && !name.is_empty();
    is_option && !name.contains('=') && !is_negative(word)
}

/// A configuration, without the password of a fleet's store: that can be in the environment.
fn without_secret(config: &str) -> String {
    let line = |line: &str| match line.strip_prefix("fleet = ") {
        Some(url) => format!("fleet = \"{}\"\n", without_password(url.trim_matches('"'))),
        None => format!("{line}\n"),
    };
    config.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_load::running::args::RunArgs;
    use std::time::Duration;

    fn run_args(line: &str) -> Result<RunArgs, clap::Error> {
        match Cli::try_parse_from(line.split_whitespace())?.into_command() {
            Command::Run(args) => Ok(args.load),
            _ => panic!("{line} is a run"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    /// The words of a line, as a shell takes them: up to a pipe, a file, or a description after a gap.
    fn words(line: &str) -> Vec<String> {
        let command = line.split(" | ").next().unwrap_or_default();
        let command = command.split(" > ").next().unwrap_or_default();
        let command = command.split("  ").next().unwrap_or_default();
        let parts = command.split('"').enumerate();
        let words = |(index, part): (usize, &str)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        };
        parts.flat_map(words).collect()
    }

    #[test]
    fn the_examples_of_the_help_pages_are_commands() {
        let mut definition = definition();
        let mut pages = vec![definition.render_long_help().to_string()];
        pages.extend(definition.get_subcommands_mut().map(|it| it.render_long_help().to_string()));
        // A backslash at the end of a line goes on with the next one.
        let whole = |page: String| page.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
        let text: String = pages.into_iter().map(whole).collect::<Vec<_>>().join("\n");
        let mut examples = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("  nanopace")) {
            let words = words(&format!("nanopace{line}"));
            let words = words.iter().map(Into::into).collect();
            let words = habits::with_url(&super::definition(), words);
            let parsed = config::matches(&super::definition(), words.clone());
            let told = parsed.err().map(|error| error.to_string()).unwrap_or_default();
            // An example's files are not here.
            assert!(told.is_empty() || told.contains("run.toml"), "{words:?}: {told}");
            examples += 1;
        }
        assert!(examples > 20, "{examples}");
    }

    #[test]
    fn the_defaults_are_the_main_job() {
        for line in ["nanopace", "nanopace run"] {
            let args = run_args(line).unwrap();
            assert_eq!(args.schedule.rate, Rate::per_second(5_000).ok());
            assert_eq!((args.connections, args.duration, args.requests), (16, None, None));
            assert_eq!(args.timeout, Duration::from_secs(10));
        }
    }

    #[test]
    fn a_number_below_zero_is_a_value_and_no_option() {
        for (line, joined) in [
            ("nanopace --rate -5", "nanopace --rate=-5"),
            ("nanopace run --rate -5k/s --pin", "nanopace run --rate=-5k/s --pin"),
            ("nanopace run -c -3 --strictness -.5", "nanopace run -c=-3 --strictness=-.5"),
            ("nanopace --rate=5 -3 -4", "nanopace --rate=5 -3 -4"),
            ("nanopace fleet rate x -5", "nanopace fleet rate x -5"),
            ("nanopace -- -5", "nanopace -- -5"),
            ("nanopace --csv - -c", "nanopace --csv - -c"),
        ] {
            let words = with_negatives(line.split_whitespace().map(OsString::from));
            assert_eq!(words.join(OsStr::new(" ")), joined);
        }
    }

    #[test]
    fn options_may_follow_the_command_or_stand_alone() {
        for line in ["nanopace run --connections 3", "nanopace --connections 3", "nanopace -c 3"] {
            assert_eq!(run_args(line).unwrap().connections, 3);
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for options in [
            "--rate 0",
            "--rate nan",
            "--rate fast",
            "--connections 0",
            "--threads 0",
            "--proxy socks5://localhost:3128/",
            "--proxy http://localhost:3128/ --unix-socket x",
            "--method G=T",
            "--header nonsense",
            "--cacert a.pem --insecure",
            "--http2 --disable-keepalive",
            "--body x --body-file y",
            "--requests 0",
            "--duration 0s",
            "--duration 5",
            "--timeout 0ms",
            "--strictness -1",
            "--fail-below nan",
            "--fail-below 1.5",
            "--target-stall 2s",
            "--url http://localhost/ --target-latency 1ms",
        ] {
            assert!(run_args(&format!("nanopace run {options}")).is_err(), "{options}");
        }
    }
}
