//! Defines the options of `nanopace run` about fleets. Their doc comments are `--help` texts.

use clap::{Args, ValueEnum};
use nanopace_fleet::WhenBlind;
use std::time::Duration;

/// The options of `nanopace run` that make the process a node of a fleet.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    #[arg(
        long,
        value_name = "URL",
        requires = "run_name",
        help = "Share the load through this Redis or Valkey server, as redis://HOST[:PORT]/ [default: $NANOPACE_STORE]"
    )]
    pub(crate) fleet: Option<String>,

    /// Join or create the run with this name; a node without load options, such as --rate, uses the run's load
    #[arg(long = "run", value_name = "NAME")]
    pub(crate) run_name: Option<String>,

    /// Start the run when this number of nodes has joined [default: 1]
    #[arg(long, value_name = "COUNT", requires = "run_name")]
    pub(crate) nodes: Option<u32>,

    /// Give up if the run has not started after this time
    #[arg(long, value_name = "TIME", requires = "run_name", default_value = "5min", value_parser = humantime::parse_duration)]
    pub(crate) join_timeout: Duration,

    /// Claim slots in frames of at least this length (1ms to 10s); longer frames put less load on the store [default:
    /// 100ms]
    #[arg(long, value_name = "TIME", requires = "run_name", value_parser = frame)]
    pub(crate) frame: Option<Duration>,

    /// Continue to send for at most this time while the store is unreachable
    #[arg(long, value_name = "TIME", requires = "run_name", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) blind: Duration,

    /// After the --blind time, pause until the store is reachable (hold) or end this node (stop)
    #[arg(long, value_name = "WHAT", requires = "run_name", default_value = "hold")]
    pub(crate) when_blind: Then,

    #[arg(skip)]
    pub(crate) gives_load: bool,
}

/// The behavior of a node that has had no connection to the store for longer than `--blind`.
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

pub(crate) const LOAD: [&str; 5] = ["rate", "shape", "duration", "arrivals", "seed"];
