//! A fleet's nodes, its store and the way between fail in every way that a test can make them fail:
//! the account is true.
//!
//! Times are asserted generously, because machines are busy, and numbers of slots exactly.

mod changes;
mod clocks;
mod link;
mod loads;
mod moves;
mod names;
mod nodes;
mod rights;
mod store;

use anyhow::Result;
use nanopace_services::{Engine, Server};
use nanopace_trials::fleet::{Outcome, Trial};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// The program that is a node.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nanopace-trials"))
}

/// Does something with each engine.
fn each_engine(test: impl Fn(Engine) -> Result<()>) -> Result<()> {
    Engine::ALL.into_iter().try_for_each(test)
}

/// Does something with one engine, where the others would do the same.
fn one_engine(test: impl Fn(Engine) -> Result<()>) -> Result<()> {
    test(Engine::Redis)
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
    outcome.check_seeing()?;
    Ok(outcome)
}

/// All slots were started, if the machine had time for all nodes but so many that were frozen.
fn all_started(outcome: &Outcome, frozen: usize) {
    let never = outcome.truth.never();
    if outcome.had_time(frozen) {
        assert_eq!(never, 0, "{}", outcome.summary());
    } else {
        println!("the machine was too busy to ask for more; {never} slots were not started");
    }
}

/// Sends a command to a store, and waits for its answer.
fn tell(address: SocketAddr, command: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer[..length]);
    anyhow::ensure!(!answer.starts_with('-'), "{answer}");
    Ok(())
}
