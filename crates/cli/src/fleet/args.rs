//! The commands of `nanopace fleet`, and the options of `nanopace run` that are about fleets; the
//! texts here are on their `--help` pages.

use super::address::RunAddress;
use crate::schedule::table::WrittenShape;
use clap::{Args, Subcommand, ValueEnum};
use nanopace::Rate;
use nanopace_fleet::WhenBlind;
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` shows below the commands.
pub(crate) const HELP: &str = "\
A fleet is several machines that issue one load together. Each runs the same command, and reaches
the same store, a Redis or Valkey server:
  nanopace run --fleet redis://10.0.0.7/ --run checkout --nodes 4 --rate 10k/s --duration 5min
The run starts when four are there. More may join later, Ctrl-C takes one out, and one that dies is
replaced by the others. From anywhere:
  nanopace fleet status checkout --store redis://10.0.0.7/
                                               how the run, its nodes and its account are
  nanopace fleet rate checkout 20k/s --store redis://10.0.0.7/
                                               the rate of all nodes together, from now on
  nanopace fleet shape checkout \"ramp 10k/s..50k/s 1min, hold 2min\" --store redis://10.0.0.7/
                                               the load from now on
  nanopace fleet pause checkout                with the store's address in NANOPACE_STORE
  nanopace fleet report checkout --json -      the report of the whole fleet, once more
  nanopace fleet demo --svg fleet.svg          four nodes on this machine, of which one is killed";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show how a run is: its load, its nodes and its account so far
    Status {
        #[command(flatten)]
        run: RunAt,
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
        /// As in "ramp 100/s..5k/s 30s, hold 60s"; nanopace plan --help has the grammar
        shape: WrittenShape,
    },
    /// Start nothing for a while; the time of the load stands still
    Pause(RunAt),
    /// Go on after a pause
    Resume(RunAt),
    /// End the load; nodes then print their reports
    Stop(RunAt),
    /// Print the report of the whole fleet, as long as the store has it: a day at least
    Report {
        #[command(flatten)]
        run: RunAt,
        #[command(flatten)]
        json: Json,
    },
    /// Show a fleet at work on this machine: four nodes, one is killed, another joins
    Demo(DemoArgs),
    /// A node of the demonstration
    #[command(hide = true)]
    DemoNode {
        #[command(flatten)]
        run: RunAt,
        rate: Rate,
    },
}

/// A run at a store.
#[derive(Debug, Args)]
pub(crate) struct RunAt {
    /// The run's name
    name: String,

    /// The store's address, redis://[:PASSWORD@]HOST[:PORT]/ [default: what `NANOPACE_STORE` says]
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

/// The options of the demonstration.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The rate of all nodes together, from 100/s to 20k/s
    #[arg(long, default_value = "2k/s", value_parser = demo_rate)]
    pub(crate) rate: Rate,

    /// Write a picture (SVG) of all starts over time, node by node
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// The options that make a run a node of a fleet; the texts here are on the `--help` page of `run`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Share the load with other machines, through the Redis or Valkey server at this address:
    /// redis://[:PASSWORD@]HOST[:PORT]/, or rediss:// for TLS [default: with --run, what
    /// `NANOPACE_STORE` says]
    #[arg(long, value_name = "URL", requires = "run_name")]
    pub(crate) fleet: Option<String>,

    /// The name of the run that this process takes part in; without a load it takes the run's
    #[arg(long = "run", value_name = "NAME")]
    pub(crate) run_name: Option<String>,

    /// The run starts when so many nodes are there [default: 1]
    #[arg(long, value_name = "COUNT", requires = "run_name")]
    pub(crate) nodes: Option<u32>,

    /// Nodes claim slots by frames of this time at least, from 1ms to 10s: long ones cost the store
    /// less and hide its freezes, but a node that dies loses more [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "run_name", value_parser = frame)]
    pub(crate) frame: Option<Duration>,

    /// For how long this node goes on without the store
    #[arg(long, value_name = "TIME", requires = "run_name", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) blind: Duration,

    /// What it does then: hold, which is to start nothing until the store is back, or stop
    #[arg(long, value_name = "WHAT", requires = "run_name", default_value = "hold")]
    pub(crate) when_blind: Then,

    /// Whether a load was asked for, and not only those that are there by default.
    #[arg(skip)]
    pub(crate) gives_load: bool,
}

/// What a node does that has been without the store for too long.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Then {
    Hold,
    Stop,
}

impl From<Then> for WhenBlind {
    fn from(then: Then) -> WhenBlind {
        match then {
            Then::Hold => WhenBlind::Hold,
            Then::Stop => WhenBlind::Stop,
        }
    }
}

fn frame(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let is_frame = (Duration::from_millis(1)..=Duration::from_secs(10)).contains(&time);
    is_frame.then_some(time).ok_or_else(|| "write a time from 1ms to 10s".to_owned())
}

/// The options that ask for a load.
pub(crate) const LOAD: [&str; 5] = ["rate", "shape", "duration", "arrivals", "seed"];

/// Each start is a line that a process writes: more would show how fast that is.
fn demo_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let is_shown = (100.0..=20_000.0).contains(&rate.as_hz());
    is_shown.then_some(rate).ok_or_else(|| "write a rate from 100/s to 20k/s".to_owned())
}
