//! The options of `nanopace run` that are about fleets; the texts here are on its `--help` page.

use clap::{Args, ValueEnum};
use nanopace_fleet::WhenBlind;
use std::time::Duration;

/// The options that make a run a node of a fleet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Share the load with other machines, through the Redis or Valkey server at this address:
    /// redis://[:PASSWORD@]HOST[:PORT]/, or rediss:// for TLS [default: with --run, the value of `NANOPACE_STORE`]
    #[arg(long, value_name = "URL", requires = "run_name")]
    pub(crate) fleet: Option<String>,

    /// The name of the run that this process takes part in; without a load it takes the run's
    #[arg(long = "run", value_name = "NAME")]
    pub(crate) run_name: Option<String>,

    /// Number of nodes to wait for before the run starts [default: 1]
    #[arg(long, value_name = "COUNT", requires = "run_name")]
    pub(crate) nodes: Option<u32>,

    /// For how long this node waits for the others; then it leaves, and prints how many have joined
    #[arg(long, value_name = "TIME", requires = "run_name", default_value = "5min", value_parser = humantime::parse_duration)]
    pub(crate) join_timeout: Duration,

    /// Nodes claim slots by frames of this time at least, from 1ms to 10s: long ones cost the store
    /// less and hide its freezes, but a node that dies loses more [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "run_name", value_parser = frame)]
    pub(crate) frame: Option<Duration>,

    /// For how long this node goes on without the store
    #[arg(long, value_name = "TIME", requires = "run_name", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) blind: Duration,

    /// The action after that: hold, which is to start nothing until the store is back, or stop
    #[arg(long, value_name = "WHAT", requires = "run_name", default_value = "hold")]
    pub(crate) when_blind: Then,

    /// Whether a load was given, and not only the default one.
    #[arg(skip)]
    pub(crate) gives_load: bool,
}

/// The action of a node that has been without the store for too long.
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
