//! Runs random trials of the engine or of fleets, a single node of a fleet, or the demonstration of a fleet.

use anyhow::Error;
use clap::Parser;
use nanopace_trials::stress;
#[cfg(feature = "fleet")]
use nanopace_trials::{
    demo,
    fleet::{chaos, node},
};
use std::process::ExitCode;

/// Trials of the engine and of fleets.
#[derive(Parser)]
#[command(name = "nanopace-trials")]
enum Command {
    /// Calls pacers at random from many threads, and checks the results.
    Stress(stress::Options),
    /// Runs fleets with random faults, and checks their accounts.
    #[cfg(feature = "fleet")]
    Chaos(chaos::Options),
    /// Runs a fleet of four nodes, kills one of them, adds another one, and draws the run.
    #[cfg(feature = "fleet")]
    Demo(demo::Options),
    /// Runs one node of a fleet.
    #[cfg(feature = "fleet")]
    Node(node::Options),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Stress(options) => stress::run(&options),
        #[cfg(feature = "fleet")]
        Command::Chaos(options) => chaos::run(&options),
        #[cfg(feature = "fleet")]
        Command::Demo(options) => demo::run(&options),
        #[cfg(feature = "fleet")]
        Command::Node(options) => node::run(&options),
    };
    done.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &Error) -> ExitCode {
    eprintln!("{error:#}");
    ExitCode::FAILURE
}
