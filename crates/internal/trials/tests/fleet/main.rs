//! Tests fleets with real servers while nodes, stores and links fail in many ways. Starts may be late, because machines
//! are busy, but the account of slots must be right.

mod changes;
mod clocks;
mod demo;
mod in_process;
mod link;
mod loads;
mod moves;
mod names;
mod nodes;
mod rights;
mod store;

use anyhow::Result;
use nanopace_fleet::{Control, FleetError, RunStatus};
use nanopace_services::{Product, Server, not_judged};
use nanopace_trials::fleet::{Member, Outcome, Start, Trial};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nanopace-trials"))
}

fn each_product(test: impl Fn(Product) -> Result<()>) -> Result<()> {
    Product::ALL.into_iter().try_for_each(test)
}

fn one_product(test: impl Fn(Product) -> Result<()>) -> Result<()> {
    test(Product::Redis)
}

fn begin(server: &Server, shape: &str, nodes: usize) -> Result<Trial> {
    Trial::begin(program(), &server.url(), shape, nodes)
}

fn end(trial: Trial) -> Result<Outcome> {
    let outcome = trial.end()?;
    println!("{}", outcome.summary());
    outcome.check(false)?;
    outcome.check_seeing()?;
    Ok(outcome)
}

/// Tests use this function with a load of 60 s, which does not end before a fault is made, even if the machine stalls
/// for seconds.
fn stop(trial: Trial, elapsed_ms: u64) -> Result<Outcome> {
    trial.until(elapsed_ms);
    trial.stop()?;
    end(trial)
}

fn wait_for(member: &Member, is_started: impl Fn(&[Start]) -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !is_started(&member.starts()) {
        anyhow::ensure!(Instant::now() < deadline, "{member:?} has started too few slots");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn all_started(outcome: &Outcome, frozen: usize) {
    assert_if_run(outcome.had_time(frozen), outcome.truth.never() == 0, outcome);
}

/// If the condition does not hold and the machine did not run the nodes in time, the test is not judged.
fn assert_if_run(were_run: bool, holds: bool, outcome: &Outcome) {
    if !were_run && !holds {
        let starts = outcome.nodes.iter().flat_map(|(_, _, starts)| starts);
        let latest = starts.map(|start| start.wait).max().unwrap_or_default();
        let stalled = outcome.stalled_ms();
        return not_judged(&format!("stalled for {stalled} ms, starts up to {latest:.1?} late"));
    }
    assert!(holds, "{}", outcome.summary());
}

/// A node that stalled for a frame or longer may have been too late for any of its slots.
fn were_run(outcome: &Outcome) -> bool {
    outcome.stalled_ms() < 100
}

/// Waits for the right data, because the first node that restores the data may have missed a change.
fn wait_for_run(control: &Control, is_right: impl Fn(&RunStatus) -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match control.status() {
            Ok(status) if is_right(&status) => return Ok(()),
            Ok(_) | Err(FleetError::NoRun | FleetError::Store(_) | FleetError::Cluster(_)) => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
        anyhow::ensure!(Instant::now() < deadline, "{:?}", control.status());
    }
}

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
