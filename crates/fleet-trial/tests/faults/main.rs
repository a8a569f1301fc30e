//! A fleet's nodes, its store and the way between fail in every way that a test can make them fail:
//! the account closes, and it is true.
//!
//! Times are asserted generously, because machines are busy, and numbers of slots exactly.

mod nodes;

use anyhow::Result;
use nanopace_fleet_trial::{Outcome, Trial};
use nanopace_services::{Engine, Server};
use std::path::Path;

/// The program that is a node.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nanopace-fleet-trial"))
}

/// Does something with each engine that is installed.
fn each_engine(test: impl Fn(Engine) -> Result<()>) -> Result<()> {
    Engine::installed().into_iter().try_for_each(test)
}

/// Does something with one engine, if one is installed.
fn one_engine(test: impl Fn(Engine) -> Result<()>) -> Result<()> {
    Engine::installed().into_iter().take(1).try_for_each(test)
}

/// A run with so many nodes that has begun.
fn begin(server: &Server, shape: &str, nodes: usize) -> Result<Trial> {
    Trial::begin(program(), &server.url(), shape, nodes)
}

/// The run is over, and its account is right.
fn end(trial: Trial) -> Result<Outcome> {
    let outcome = trial.end()?;
    println!("{}", outcome.summary());
    outcome.check(false)?;
    Ok(outcome)
}
