//! A node as a process, and random trials of fleets of them.

use anyhow::Error;
use clap::Parser;
use nanopace_fleet_trial::{chaos, node};
use std::process::ExitCode;

/// A node of a fleet that is tried, or random trials.
#[derive(Parser)]
#[command(name = "nanopace-fleet-trial")]
enum Command {
    /// Takes part in a run.
    Node(node::Options),
    /// Makes runs with random faults.
    Chaos(chaos::Options),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Node(options) => node::run(&options),
        Command::Chaos(options) => chaos::run(&options),
    };
    done.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &Error) -> ExitCode {
    eprintln!("{error:#}");
    ExitCode::FAILURE
}
