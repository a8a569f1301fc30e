//! A node as a process, and random trials of fleets of them.

use anyhow::Result;
use clap::Parser;
use nanopace_fleet_trial::node;

/// A node of a fleet that is tried, or random trials.
#[derive(Parser)]
#[command(name = "nanopace-fleet-trial")]
enum Command {
    /// Takes part in a run.
    Node(node::Options),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Node(options) => node::run(&options),
    }
}
