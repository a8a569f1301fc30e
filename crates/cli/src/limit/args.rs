//! The options of `nanopace limit`; the texts here are its `--help` page.

use crate::limit::kind::Kind;
use crate::limit::limiter::Settings;
use crate::limit::load::LoadPhases;
use clap::Args;
use nanopace::Nanos;
use nanopace_limits::{Limit, Limits, LimitsError, Quota};
use nanopace_load::console::human::positive_duration;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` shows below the options.
pub(crate) const EXAMPLES: &str = "\
Examples:
  nanopace limit --phases                      a generated load against 10/s: table and chart
  nanopace limit --compare --phases            the same load through every limiter, side by side
  printf '%s\\n' 0 0 0 0 20 | nanopace limit --limit 3/60s --decisions
                                               your own requests, and the answer to each
  awk '{print $3, $1}' requests.log | nanopace limit --limit 100/min --limiter sliding-log
                                               a limit for each user: what would it have refused?
  nanopace limit --limit \"10/s burst 20, 100/min sliding-log\" --phases
                                               limits as programs write them, several at once
  nanopace limit --compare --limiter fixed-window,sliding-log --phases 0,100 --phase-duration 5s
  nanopace limit --retry 10ms                  a caller that asks again 10 ms after each refusal:
                                               how long do 100 requests take under each limiter?
  nanopace limit --retry 100ms --requests 50 --limiter sliding-log-all
  nanopace limit --limit 50/s --capacity 5 --phases 20,80,20 --poisson --svg limit.svg

Standard input has one request per line: its time, or a key and its time. Times are seconds
such as 1.5 or 1700000000.25, or carry a unit: 1500ms. Each key has a limiter of its own. A line
that cannot be read is reported with its number and skipped. A line that is earlier than the line
before is reported too, and decided as if it came at the latest time so far. With --strict the
program stops at either, with status 2. Nothing sleeps: the only time is the time in the input.

With --retry nothing is read. The caller asks, waits for the time of --retry if it is refused, and
asks again until it is let in; the next request follows at once. `took` is the time until the last
one went through, `tries` is how often it asked. `never ends` is proven, not guessed: a request may
be larger than what is ever let in at once, and where refused requests count too, a caller that
asks again too soon keeps itself out.";

/// What `--limit` says.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) limits: Limits,
    /// Of the first of them, which charts and tables are about.
    pub(crate) quota: Quota,
}

impl Written {
    fn parse(text: &str) -> Result<Written, String> {
        let limits: Limits = text.parse().map_err(|error: LimitsError| error.to_string())?;
        let first = limits.each().first().ok_or("there is no limit: write one, such as 10/s")?;
        Ok(Written { quota: first.quota(), limits })
    }

    /// Whether it is a number per time and nothing else, which any limiter keeps.
    pub(crate) fn is_plain(&self) -> bool {
        *self.limits.each() == [Limit::gcra(self.quota)]
    }
}

/// The options of `nanopace limit`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct LimitArgs {
    /// The limit, as a number per time: 10/s, 3/60s, 5k/h, 1/day. Or as programs write limits, one
    /// or several at once: "10/s burst 20, 5000/day sliding-log". Then they decide as they are
    /// written, unless --limiter names another limiter, which keeps the first of them
    #[arg(long, value_name = "LIMITS", default_value = "10/s", value_parser = Written::parse)]
    pub(crate) limit: Written,

    /// The limiter that decides; with --compare or --retry several, separated by commas
    /// [default: cooldown, or the limits as written; with --compare or --retry all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) limiter: Vec<Kind>,

    /// Show how several limiters decide about the same requests, side by side
    #[arg(long, conflicts_with = "decisions")]
    pub(crate) compare: bool,

    /// How many may get in at once, for cooldown, buckets, queue and pool [default: the limit's
    /// count]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) capacity: Option<u64>,

    /// How much each request counts
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cost: u64,

    /// How many slots the period has, for windows that have slots [default: 10]
    #[arg(long, value_name = "COUNT")]
    pub(crate) slots: Option<NonZeroU16>,

    /// How far the pool may be filled above its capacity while tokens wait; 1.25 is a quarter more
    /// [default: 1.25]
    #[arg(long, value_name = "RATIO")]
    pub(crate) backfill: Option<f64>,

    /// How often the pool is refilled [default: a hundredth of the limit's period, a day at most]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) refill_every: Option<Duration>,

    /// Generate requests instead of reading them, at one rate after the other: 1,2,5,10,20 are
    /// requests per second, 30/min is per minute, 0 is a pause. Without rates: 0.1, 0.2, 0.5, 1, 2,
    /// 0 and 2 times the limit. This is also the default when standard input is a terminal
    #[arg(long, value_name = "RATES", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the option may be missing, or have no value")]
    pub(crate) phases: Option<Option<LoadPhases>>,

    /// The length of each phase, and of each row of the table [default: ten periods of the limit]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) phase_duration: Option<Duration>,

    /// Generate requests at random times, as independent users would, instead of evenly spaced
    #[arg(long)]
    pub(crate) poisson: bool,

    /// The seed of the random times; the same seed gives the same times
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Show how long one caller takes, who makes requests one after the other and waits this long
    /// after each refusal before asking again; under every limiter, or those of --limiter
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) retry: Option<Duration>,

    /// How many requests that caller makes [default: as many as ten periods of the limit let in]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,

    /// Print the answer to each request
    #[arg(long)]
    pub(crate) decisions: bool,

    /// Stop with status 2 at the first line that cannot be read or is out of order
    #[arg(long)]
    pub(crate) strict: bool,

    /// Write the results as one JSON object; with - it goes to standard output, and the report to
    /// standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a picture (SVG) of the requests and of what was admitted over time
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

impl LimitArgs {
    /// When generated requests begin: half a period after the clock's origin. So they show what it
    /// means when requests are counted from one boundary of a window to the next.
    pub(crate) fn start(&self) -> Nanos {
        Nanos::ZERO + self.limit.quota.period() / 2
    }

    /// The limiters' settings: as asked for, with defaults that suit the limit.
    pub(crate) fn settings(&self) -> Settings {
        let quota = self.limit.quota;
        Settings {
            limit: quota,
            limits: self.limit.limits.clone(),
            capacity: self.capacity.unwrap_or(quota.count()),
            slots: self.slots.unwrap_or(const { NonZeroU16::new(10).unwrap() }),
            backfill: self.backfill.unwrap_or(1.25),
            refill_every: self.refill_every.unwrap_or_else(|| Settings::usual_refill(quota)),
        }
    }
}
