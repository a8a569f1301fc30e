//! What can be said on the command line; the texts here are the `--help` pages.

use crate::target::stall::Stall;
use clap::{Args, Parser, Subcommand};
use nanopace::{Pause, Rate, Strictness};
use nanopace_console::human::positive_duration;
use nanopace_trial::LimitArgs;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  nanopace                                     as nanopace run: the embedded target, 5000/s, 10 s
  nanopace run --url http://127.0.0.1:8080/ --rate 2k/s --workers 8 --duration 1min
  nanopace run --rate 100 --duration 6s --target-stall 2s@2s
                                               see what a stall does to response times
  nanopace run --requests 1000 --json - | jq .response_time_ns.p99
  nanopace run --fail-below 0.99               exit status 3 when the rate was missed
  nanopace calibrate                           which rates and pauses this machine is good for
  nanopace limit --compare --phases            how the limiters differ, on one sequence of requests

Times are written like 500us, 20ms, 1.5s, 2min. While the load runs on a terminal, + and -
change the rate by 10 %, space pauses and resumes, a rate and Enter sets it, q or Ctrl-C
stops with the report.";

const CALIBRATE_HELP: &str = "\
Examples:
  nanopace calibrate                           the report, after 24 s
  nanopace calibrate --seconds 60 --json results.json --svg percentiles.svg
  nanopace calibrate --json - | jq .recommended.pause

What the report tells, from top to bottom:
  oversleep    by how much sleeps take longer than asked for, and their processor time
  spinning     gaps in the sight of a thread that never sleeps: who else was served
  lateness     of starts at 1 k/s and 10 k/s, for each --pause of nanopace run
  clumps       above which rate starts of a sleeping thread go in one, and how many
  even gaps    the rate up to which 99 % of the starts are late by a quarter of the gap at most
  recommended  the cheapest --pause with even gaps at 10 k/s

Nothing is recommended when more than 5 % of the time was taken by others; the exit status is 0
all the same. Ctrl-C ends it with what was measured so far.";

/// A load generator that starts every request on schedule and says how late it was.
#[derive(Debug, Parser)]
#[command(name = "nanopace", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

/// The jobs the program does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Drive an HTTP server at a given rate and report wait, service and response times.
    #[command(after_help = EXAMPLES)]
    Run(Box<RunArgs>),
    /// Measure this machine's clock, sleeps and starts, and recommend a way to pause.
    #[command(after_help = CALIBRATE_HELP)]
    Calibrate(CalibrateArgs),
    /// Try limiters on requests from standard input, or on a generated load: who gets in, and when.
    #[command(after_help = nanopace_trial::EXAMPLES)]
    Limit(Box<LimitArgs>),
}

impl Cli {
    /// The job asked for; `run` when none is named.
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or_else(|| Command::Run(Box::new(self.run)))
    }
}

/// The options of `nanopace run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Server to drive, http only; without it an embedded target on a loopback port
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Requests to start per second, or per the unit after a slash: 50k/s, 3/min, 1.5/h
    #[arg(long, default_value = "5000/s")]
    pub(crate) rate: Rate,

    /// How long requests are scheduled, warm-up not counted [default: 10s, or no limit with --requests]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// Start exactly this many requests, warm-up not counted; --duration may end the run earlier
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,

    /// Threads that send requests, each over its own connection, one request at a time
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) workers: u16,

    /// What happens to lateness: 0 catches up at once, 1 never, 1.1 at up to 110 % of the rate
    #[arg(long, value_name = "NUMBER", default_value_t)]
    pub(crate) strictness: Strictness,

    /// Forget what is further behind than this [default: nothing is forgotten]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) max_backlog: Option<Duration>,

    /// Skip and count requests that would start later than this [default: none is skipped]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) skip_later_than: Option<Duration>,

    /// How an early worker holds back: sleep, hybrid (sleep, then a short spin), yield or spin
    #[arg(long, value_name = "HOW", default_value_t)]
    pub(crate) pause: Pause,

    /// Pin worker i to core i, round and round
    #[arg(long)]
    pub(crate) pin: bool,

    /// Give a request up after this long; it counts as failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration)]
    pub(crate) timeout: Duration,

    /// Run this much longer, and record nothing of it
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) warmup: Duration,

    /// How long the embedded target thinks about each request
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration, conflicts_with = "url")]
    pub(crate) target_latency: Duration,

    /// Let the embedded target stop answering: 2s@3s is for 2 s, from 3 s after the start on
    #[arg(long, value_name = "TIME@TIME", conflicts_with = "url")]
    pub(crate) target_stall: Option<Stall>,

    /// Exit with status 3 when started requests / scheduled requests is below this share, e.g. 0.99
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_below: Option<f64>,

    /// Write the results as one JSON object; - is standard output, and moves the report to standard
    /// error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write an interval log of HDR histograms: one line per second and kind of time
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
}

/// The options of `nanopace calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// How long to measure; less is less certain
    #[arg(long, value_name = "NUMBER", default_value = "24", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Write the results as one JSON object; - is standard output, and moves the report to standard
    /// error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the percentiles as a plot
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// A day is as much as anybody can want.
const MOST_SECONDS: f64 = 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("it is a number of seconds above 0 and up to 86400".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn run_args(line: &str) -> Result<RunArgs, clap::Error> {
        match Cli::try_parse_from(line.split_whitespace())?.into_command() {
            Command::Run(args) => Ok(*args),
            Command::Calibrate(_) | Command::Limit(_) => panic!("{line} is a run"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_the_main_job() {
        for line in ["nanopace", "nanopace run"] {
            let args = run_args(line).unwrap();
            assert_eq!(args.rate, Rate::per_second(5_000).unwrap());
            assert_eq!((args.workers, args.duration, args.requests), (2, None, None));
            assert_eq!(args.timeout, Duration::from_secs(10));
        }
    }

    #[test]
    fn options_may_follow_the_command_or_stand_alone() {
        for line in ["nanopace run --workers 3", "nanopace --workers 3"] {
            assert_eq!(run_args(line).unwrap().workers, 3);
        }
    }

    #[test]
    fn seconds_may_be_parts_of_one() {
        for (text, parsed) in
            [("0.5", Some(500)), ("24", Some(24_000)), ("0", None), ("-1", None), ("nan", None)]
        {
            assert_eq!(seconds(text).ok(), parsed.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for options in [
            "--rate 0",
            "--rate nan",
            "--rate fast",
            "--workers 0",
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
