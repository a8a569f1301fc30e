//! What can be said on the command line; the texts here are the `--help` pages.

use crate::limit::{Kind, LoadPhases};
use crate::target::stall::Stall;
use clap::{Args, Parser, Subcommand};
use nanopace::{Pause, Rate, Strictness};
use nanopace_limits::Quota;
use std::num::NonZeroU16;
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

const LIMIT_EXAMPLES: &str = "\
Examples:
  nanopace limit --phases                      a generated load against 10/s: table and chart
  nanopace limit --compare --phases            the same load through every limiter, side by side
  printf '%s\\n' 0 0 0 0 20 | nanopace limit --limit 3/60s --decisions
                                               your own requests, and the answer to each
  awk '{print $3, $1}' requests.log | nanopace limit --limit 100/min --limiter sliding-log
                                               a limit for each user: what would it have refused?
  nanopace limit --compare --limiter fixed-window,sliding-log --phases 0,100 --phase-duration 5s
  nanopace limit --limit 50/s --capacity 5 --phases 20,80,20 --poisson --svg limit.svg

Standard input has one request per line: its time, or a key and its time. Times are seconds
such as 1.5 or 1700000000.25, or carry a unit: 1500ms. Each key has a limiter of its own. A line
that cannot be read is reported with its number and skipped; one that is earlier than the line
before is reported too, and decided as if it came at the latest time so far. With --strict both
end the program with status 2. Nothing sleeps: time is what the input says.";

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
    #[command(after_help = LIMIT_EXAMPLES)]
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

/// The options of `nanopace limit`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct LimitArgs {
    /// How many per how much time: 10/s, 3/60s, 5k/h, 1/day
    #[arg(long, value_name = "COUNT/TIME", default_value = "10/s")]
    pub(crate) limit: Quota,

    /// Which limiter decides; with --compare several, separated by commas [default: cooldown, or
    /// all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) limiter: Vec<Kind>,

    /// Show what several limiters make of the same requests, side by side
    #[arg(long, conflicts_with = "decisions")]
    pub(crate) compare: bool,

    /// How many may get in at once, for cooldown, buckets, queue and pool [default: the limit's
    /// count]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) capacity: Option<u64>,

    /// What each request counts as
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cost: u64,

    /// Slots that the period is divided into, for windows that have slots [default: 10]
    #[arg(long, value_name = "COUNT")]
    pub(crate) slots: Option<NonZeroU16>,

    /// How far the pool may be filled over its capacity while tokens wait, 1.25 is by a quarter
    /// [default: 1.25]
    #[arg(long, value_name = "RATIO")]
    pub(crate) backfill: Option<f64>,

    /// How often the pool is refilled [default: a hundredth of the limit's period, a day at most]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) refill_every: Option<Duration>,

    /// Generate requests instead of reading them: so many per second, one phase after the other,
    /// such as 1,2,5,10,20; or per the time after a slash, such as 30/min; 0 is a pause. Without
    /// numbers: 0.1, 0.2, 0.5, 1, 2, 0 and 2 times the limit. That is also what is done when
    /// standard input is a terminal
    #[arg(long, value_name = "RATES", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the option may be missing, or have no value")]
    pub(crate) phases: Option<Option<LoadPhases>>,

    /// How long each phase is, and each row of the table [default: ten periods of the limit]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) phase_duration: Option<Duration>,

    /// Generate requests at random times, as independent users would, instead of evenly spaced ones
    #[arg(long)]
    pub(crate) poisson: bool,

    /// Which random times; the same seed gives the same ones
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Print the answer to each request
    #[arg(long)]
    pub(crate) decisions: bool,

    /// End with status 2 at the first line that cannot be read or is out of order
    #[arg(long)]
    pub(crate) strict: bool,

    /// Write the results as one JSON object; - is standard output, and moves the report to standard
    /// error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the chart of what was asked and admitted over time as a picture
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

fn positive_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it must be longer than zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
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
