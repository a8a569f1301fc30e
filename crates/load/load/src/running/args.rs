//! Defines the options of a run. Their doc comments are `--help` texts.

use super::control::args::ControlArgs;
use super::member::address::without_password;
use super::member::args::{FleetArgs, LOAD};
use super::pool_size::PoolSize;
#[cfg(feature = "otlp")]
use super::push::args::PushArgs;
use super::start_at::StartAt;
use crate::console::config;
use crate::console::human::positive_duration;
use crate::judged::comparison::demand::Demand;
use crate::judged::comparison::demand::Requirement;
use crate::judged::criteria::{Criterion, Goal};
use crate::load::schedule;
use crate::load::schedule::args::ScheduleArgs;
use crate::shown::report::Detail;
use anyhow::bail;
use clap::{ArgMatches, Args, Command, Parser};
use nanopace::Strictness;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use toml::{Table, Value};

/// The largest accepted value of `--threads`. Larger values are likely to be a mistake.
pub(crate) const MOST_THREADS: u16 = 1024;

/// The options of a run, as a group for command lines with other options.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "options")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,

    /// Run for this long, excluding the warm-up [default: 10s, or until another option, such as --requests or --shape,
    /// ends the load]
    #[arg(long, value_name = "TIME", value_parser = positive_duration, help_heading = "Load")]
    pub(crate) duration: Option<Duration>,

    /// Start at this time: a date, as in 2026-01-31T12:00:00Z, seconds since 1970, or +10s, rounded up to a multiple of
    /// 10 s
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub(crate) start_at: Option<StartAt>,

    /// End after this number of requests or scenarios, including skipped ones and excluding the warm-up
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Load")]
    pub(crate) requests: Option<u64>,

    /// Run until both ends of the 95 % confidence interval of a percentile are this close to it, as in "p99 5%" [see:
    /// help requirements]
    #[arg(long, value_name = "GOAL", help_heading = "Load")]
    pub(crate) until_confident: Option<Goal>,

    /// End an --until-confident run after at most this time, excluding the warm-up [default: 10min]
    #[arg(long, value_name = "TIME", requires = "until_confident", value_parser = positive_duration, help_heading = "Load")]
    pub(crate) longest: Option<Duration>,

    /// Allow this number of requests in flight, one per connection; 16..512 grows as needed
    #[arg(
        long,
        short = 'c',
        value_name = "COUNT",
        default_value = "16",
        help_heading = "Connections"
    )]
    pub(crate) connections: PoolSize,

    /// Start a request on each connection once per this time, instead of --rate or --shape
    #[arg(long, value_name = "TIME", value_parser = positive_duration, help_heading = "Load")]
    pub(crate) per_connection: Option<Duration>,

    /// Abort a request after this time and count it as failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration, help_heading = "Connections")]
    pub(crate) timeout: Duration,

    /// Send from this number of threads [default: one per core; fewer for few connections, a local server or a low
    /// rate]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)), help_heading = "Connections")]
    pub(crate) threads: Option<u16>,

    /// Set how fast to make up for missed slots: 0 = at once, 1 = never, 1.1 = at up to 110 % of the rate
    #[arg(long, value_name = "NUMBER", default_value_t, help_heading = "When late")]
    pub(crate) strictness: Strictness,

    /// Make up for at most this much lateness; beyond it, shift the rest of the schedule later [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = "When late")]
    pub(crate) max_backlog: Option<Duration>,

    /// Skip requests that would start late by more than this time; count them as skipped [default: skip none]
    #[arg(long, value_name = "TIME", value_parser = positive_duration, help_heading = "When late")]
    pub(crate) skip_later_than: Option<Duration>,

    /// Give load threads priority over other programs (Linux): real-time, or nice -15 if that is not allowed
    #[arg(long, help_heading = "Connections")]
    pub(crate) realtime: bool,

    /// Pin each load thread to one of the available cores, in turn
    #[arg(long, help_heading = "Connections")]
    pub(crate) pin: bool,

    #[command(flatten)]
    pub(crate) report: DetailArgs,

    /// Print one line per second instead of showing the full-screen view
    #[arg(long, help_heading = "While it runs")]
    pub(crate) no_tui: bool,

    /// Run for this long before recording starts
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration, help_heading = "Load")]
    pub(crate) warmup: Duration,

    /// Exit with status 3 unless this requirement holds, as in "p99 response < 50ms"; repeatable [see: help
    /// requirements]
    #[arg(
        long,
        visible_alias = "require",
        value_name = "REQUIREMENT",
        help_heading = "Requirements"
    )]
    pub(crate) fail_if: Vec<Requirement>,

    /// Exit with status 3 if the share of scheduled requests that start is less than this, as in 0.99
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Requirements")]
    pub(crate) fail_below: Option<f64>,

    /// End the run as soon as a requirement can no longer be met
    #[arg(long, help_heading = "Requirements")]
    pub(crate) fail_fast: bool,

    #[arg(skip)]
    pub(crate) settings: Table,
    #[arg(skip)]
    pub(crate) given: BTreeSet<String>,

    #[arg(skip)]
    pub(crate) name: String,
    /// The time from the start of the run to the start of the load, if it is one of several.
    #[arg(skip)]
    pub(crate) start: Duration,
    /// Whether `--versus` divides the run into two sides, or this is one of the sides.
    #[arg(skip)]
    pub(crate) is_versus: bool,

    #[arg(skip)]
    pub(crate) svg: Option<PathBuf>,

    #[arg(skip)]
    pub(crate) config: Option<PathBuf>,

    /// Compare the run with the earlier run that wrote this --json file
    #[arg(long, value_name = "FILE", help_heading = "Requirements")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write the results as JSON; with -, write them to standard output and the report to standard error
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// Write a self-contained HTML report with charts
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) html: Option<PathBuf>,

    /// Write a CSV line per second, and per label if URLs or methods differ; with -, write them to standard output
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,

    /// Write an interval log of HDR histograms: per second, one line each for wait, service and response times
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) hdr: Option<PathBuf>,

    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Results",
        help = "Write JUnit XML test cases for the requirements and for the completeness of the load"
    )]
    pub(crate) junit: Option<PathBuf>,

    /// Write a short summary in Markdown; in GitHub Actions, it is added to the step summary even without this option
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) summary: Option<PathBuf>,

    /// Write the requests with the longest service times as JSON lines
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) slowest: Option<PathBuf>,

    /// Write at most this number of requests to the file of --slowest
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "slowest", help_heading = "Results")]
    pub(crate) slowest_count: u32,

    /// Repeat requests of this --slowest file at other moments, and report whether they are slow again
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub(crate) again: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) control: ControlArgs,

    #[command(flatten)]
    pub(crate) fleet: FleetArgs,

    #[cfg(feature = "otlp")]
    #[command(flatten)]
    pub(crate) push: PushArgs,
}

/// The options about the level of detail of the report.
#[derive(Debug, Args)]
pub(crate) struct DetailArgs {
    /// Report all details: percentiles with confidence intervals, rates, labels; for a run also CPU time and lateness
    #[arg(long, short = 'v', help_heading = "Results")]
    verbose: bool,

    /// Report the result in one line; each load, --versus, --again and a fleet add a line
    #[arg(long, conflicts_with = "verbose", help_heading = "Results")]
    quiet: bool,
}

impl DetailArgs {
    pub(crate) fn detail(&self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Headline,
            (_, true) => Detail::All,
            _ => Detail::Brief,
        }
    }
}

#[derive(Debug, Parser)]
struct DefaultRun {
    #[command(flatten)]
    run: RunArgs,
}

impl RunArgs {
    pub(crate) fn by_default() -> RunArgs {
        DefaultRun::parse_from(["run"]).run
    }

    pub(crate) fn settle(&mut self, definition: &Command, matches: &ArgMatches) {
        self.settings = config::settings(definition, matches);
        self.config = config::file_of(matches);
        self.given = config::given(definition, matches);
        let rate = self.settings.get("rate").and_then(Value::as_str);
        self.schedule.is_closed = rate == Some(schedule::args::MAX);
        self.fleet.gives_load = LOAD.iter().any(|id| config::is_set(matches, id));
        for name in ["fleet", "proxy"] {
            if let Some(Value::String(url)) = self.settings.get_mut(name) {
                *url = without_password(url);
            }
        }
        if let Some(Value::String(shard)) = self.settings.get_mut("shard") {
            *shard = schedule::args::from_one(shard);
        }
        if let Some(recording) = self.schedule.arrivals.recording() {
            self.settings.insert("arrivals".to_owned(), recording.to_string().into());
        }
        let is_rate_given = config::is_set(matches, "rate");
        if self.schedule.settle(is_rate_given) {
            self.settings.insert("rate".to_owned(), "1/s".into());
        } else if !is_rate_given && self.schedule.shape.is_none() {
            self.settings.insert("rate_is_default".to_owned(), true.into());
        }
    }

    /// Returns whether progress is left out: with `--quiet`, only a terminal shows it.
    pub(crate) fn hides_progress(&self) -> bool {
        self.report.quiet && !io::stderr().is_terminal()
    }

    pub(crate) fn rate_is_default(&self) -> bool {
        let is_given = |name: &&str| self.given.contains(*name);
        let is_server = ["url", "targets", "scenario"].iter().any(is_given);
        is_server && self.settings.contains_key("rate_is_default")
    }

    pub(crate) fn criteria(&self) -> Vec<Criterion> {
        let figure = |requirement: &Requirement| match requirement {
            Requirement::Figure(criterion) => Some(criterion.clone()),
            Requirement::Change(_) | Requirement::OfLoad(..) => None,
        };
        let given = self.fail_if.iter().filter_map(figure);
        given.chain(self.fail_below.map(Criterion::at_least_ratio)).collect()
    }

    pub(crate) fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.fail_if.iter().filter_map(|requirement| match requirement {
            Requirement::Change(demand) => Some(demand),
            Requirement::Figure(_) | Requirement::OfLoad(..) => None,
        })
    }

    pub(crate) fn check_no_load_names(&self) -> anyhow::Result<()> {
        let named = self.fail_if.iter().find_map(|requirement| match requirement {
            Requirement::OfLoad(name, criterion) => Some((name, criterion)),
            _ => None,
        });
        named.map_or(Ok(()), |(name, criterion)| {
            bail!("--fail-if \"{name}: {criterion}\": only the loads of --load and the sides of --versus have names: leave {name:?} out")
        })
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to 1, as in 0.99".to_owned()),
    }
}
