//! The commands of `nanopace fleet`; the texts here are on their `--help` pages.

use crate::judged::criteria::Criterion;
use crate::load::schedule::table::WrittenShape;
use crate::running::member::address::RunAddress;
use clap::{Args, Subcommand};
use nanopace::Rate;
use std::path::PathBuf;

/// The examples of the help page, shown below the commands.
pub(crate) const HELP: &str = "\
A fleet is several machines that issue one load together. Each runs the same command, and reaches
the same store, a Redis or Valkey server:
  nanopace run --fleet redis://10.0.0.7/ --run checkout --nodes 4 --rate 10k/s --duration 5min
The run starts when four are there. More may join later, Ctrl-C takes one out, and one that dies is
replaced by the others. From anywhere:
  nanopace fleet status checkout --store redis://10.0.0.7/
                                               how the run, its nodes and its account are
  nanopace fleet status checkout --watch       the whole fleet each second, while it runs
  nanopace fleet rate checkout 20k/s --store redis://10.0.0.7/
                                               the rate of all nodes together, from now on
  nanopace fleet shape checkout \"ramp 10k/s..50k/s 1min, hold 2min\" --store redis://10.0.0.7/
                                               the load from now on
  nanopace fleet pause checkout                with the store's address in NANOPACE_STORE
  nanopace fleet report checkout --json -      the report of the whole fleet, once more
  nanopace fleet report checkout --html checkout.html --csv checkout.csv
                                               a page to look at, and a line each second
  nanopace fleet report checkout --fail-if \"p99 response < 50ms\"
                                               exit status 3 if the whole fleet missed this";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show how a run is: its load, its nodes and its account so far
    Status {
        #[command(flatten)]
        run: RunAt,
        /// Show it each second, with the rate, the errors and the response times of the last second and of
        /// all so far, until the run is over
        #[arg(long, conflicts_with = "json")]
        watch: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Change the rate of the whole fleet; the load ends when it would have ended
    Rate {
        #[command(flatten)]
        run: RunAt,
        /// As in 20k/s, 300/min or 5000
        #[arg(allow_hyphen_values = true)]
        rate: Rate,
    },
    /// Change the load of the whole fleet, to a shape from its beginning
    Shape {
        #[command(flatten)]
        run: RunAt,
        /// As in "ramp 100/s..5k/s 30s, hold 60s"; run --help has the grammar
        shape: WrittenShape,
    },
    /// Start nothing for a while; the time of the load is paused too
    Pause(RunAt),
    /// Go on after a pause
    Resume(RunAt),
    /// End the load; nodes then print their reports
    Stop(RunAt),
    /// Print the report of the whole fleet, as long as the store has it: a day at least
    Report(ReportArgs),
}

/// The options of the report.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) run: RunAt,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Write a page with charts of all nodes together: one file that loads nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write a line of what all nodes did for each second; of runs above two minutes, for each 2, 4 or so on. With -
    /// to standard output, and the text to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Exit with status 3 unless this holds for all nodes together, as in "p99 response < 50ms"; may be
    /// given again [default: errors <= 1%]
    #[arg(long, visible_alias = "require", value_name = "REQUIREMENT")]
    pub(crate) fail_if: Vec<Criterion>,
}

/// A run at a store.
#[derive(Debug, Args)]
pub(crate) struct RunAt {
    /// The run's name
    name: String,

    /// The store's address, redis://[:PASSWORD@]HOST[:PORT]/ [default: the value of `NANOPACE_STORE`]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl RunAt {
    /// Where it is.
    pub(crate) fn address(&self) -> anyhow::Result<RunAddress> {
        RunAddress::new("--store", self.store.as_deref(), &self.name)
    }
}

/// Where a JSON object goes.
#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Write it as one JSON object; with - to standard output, and the text to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
