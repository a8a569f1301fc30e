//! The options that make a run a node of a fleet.

use clap::Args;

/// The options; the texts here are on the `--help` page of `run`.
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

    /// Whether a load was asked for, and not only those that are there by default.
    #[arg(skip)]
    pub(crate) gives_load: bool,
}

/// The options that ask for a load.
pub(crate) const LOAD: [&str; 5] = ["rate", "shape", "duration", "arrivals", "seed"];
