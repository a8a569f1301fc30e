//! Defines the commands of `nanopace fleet`. Their doc comments are `--help` texts.

use crate::judged::criteria::Criterion;
use crate::load::schedule::table::WrittenShape;
use crate::running::args::DetailArgs;
use crate::running::member::address::RunAddress;
use clap::{Args, Subcommand};
use nanopace::Rate;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
A fleet is several machines that issue one load together. Start the same command on each, with the
same store, a Redis or Valkey server. This run starts when four nodes have joined:
  nanopace run --fleet redis://10.0.0.7/ --run checkout --nodes 4 --rate 10k/s --duration 5min
More nodes may join later. Ctrl-C takes a node out. If a node dies, the others start its later
slots.

Examples, from any machine:
  nanopace fleet status checkout --store redis://10.0.0.7/
  nanopace fleet rate checkout 20k/s --store redis://10.0.0.7/
  nanopace fleet shape checkout \"ramp 10k/s..50k/s 1min, hold 2min\" --store redis://10.0.0.7/
  nanopace fleet status checkout --watch
  nanopace fleet report checkout --html checkout.html --fail-if \"p99 response < 50ms\"
The environment variable NANOPACE_STORE can contain the address of the store.";

/// The commands of `nanopace fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show the load and the nodes of a run, and how many slots have started so far
    Status {
        #[command(flatten)]
        run: RunAt,
        /// Print the status each second until the run ends
        #[arg(long, conflicts_with = "json")]
        watch: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Change the rate of the whole fleet; the end of the load stays the same
    Rate {
        #[command(flatten)]
        run: RunAt,
        /// Set this rate, as in 20k/s, 300/min or 5000
        #[arg(allow_hyphen_values = true)]
        rate: Rate,
    },
    /// Replace the load of the whole fleet with a shape
    Shape {
        #[command(flatten)]
        run: RunAt,
        /// Set this load, as in "ramp 100/s..5k/s 30s, hold 60s" [see: help shapes]
        shape: WrittenShape,
    },
    /// Pause the load of the whole fleet
    Pause(RunAt),
    /// Resume the load after a pause
    Resume(RunAt),
    /// End the load; each node prints its report
    Stop(RunAt),
    /// Print the report of the whole fleet, while the store keeps it
    Report(ReportArgs),
}

/// The options of `nanopace fleet report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) run: RunAt,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Write a self-contained HTML report with charts of all nodes combined
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write one CSV line per second (per 2, 4, ... s in long runs); with -, write the CSV to standard output and the
    /// report to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Exit with status 3 unless this requirement holds for all nodes combined, as in "p99 response < 50ms"; repeatable
    #[arg(long, visible_alias = "require", value_name = "REQUIREMENT")]
    pub(crate) fail_if: Vec<Criterion>,

    #[command(flatten)]
    pub(crate) detail: DetailArgs,
}

/// A run, and the store that it uses.
#[derive(Debug, Args)]
pub(crate) struct RunAt {
    /// Name of the run
    name: String,

    #[arg(
        long,
        value_name = "URL",
        help = "Address of the store, as redis://[:PASSWORD@]HOST[:PORT]/ [default: $NANOPACE_STORE]"
    )]
    store: Option<String>,
}

impl RunAt {
    pub(crate) fn address(&self) -> anyhow::Result<RunAddress> {
        RunAddress::new("--store", self.store.as_deref(), &self.name)
    }
}

/// The option for a JSON object.
#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Write the result as JSON; with -, write it to standard output and the text to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
