//! Defines the options of `nanopace plan`. Their doc comments are its `--help` page.

use crate::console::human::positive_duration;
use crate::load::schedule::args::ScheduleArgs;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Examples:
  nanopace plan --shape \"ramp 100/s..5k/s 30s, hold 60s, sine 1k/s..5k/s period 20s x3\"
  nanopace plan --shape \"ladder 100/s..1k/s steps 10 each 1min\" --svg load.svg
  nanopace plan --shape \"(hold 5k/s 1s, hold 0/s 9s) forever\" --duration 1min
  nanopace plan --rate 100/s --arrivals poisson --seed 7 --requests 1000 --csv starts.csv
  nanopace plan --arrivals replay:starts.csv --rate 2/s --csv -

'nanopace help shapes' and 'nanopace help arrivals' describe the grammars.";

/// The options of `nanopace plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,

    /// Show the load up to this time [default: the whole load, or the first minute if it has no end]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// Show at most this number of requests
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,

    /// Draw the rate and the number of requests over time as SVG; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) svg: Option<PathBuf>,

    /// Write the intended start of each request in seconds, one per line; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,
}
