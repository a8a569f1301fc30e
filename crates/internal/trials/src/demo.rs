//! Draws a picture of a fleet on this machine: four processes share a load, then one is killed and another one joins.

mod plot;
pub mod record;

use crate::fleet::{Member, Outcome, Trial};
use anyhow::{Context, Result, ensure};
use clap::Args;
use nanopace::Rate;
use nanopace_services::{Product, Server};
use record::{Event, LENGTH, Record};
use std::path::PathBuf;
use std::{env, fs};

const NODES: usize = 4;
const KILL_MS: u64 = 4_000;
const JOIN_MS: u64 = 6_000;

/// The options of the demonstration.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The rate of all nodes together, from 100/s to 20k/s
    #[arg(long, default_value = "2k/s", value_parser = shown_rate)]
    rate: Rate,
    /// The file for the picture (SVG) of all starts over time, node by node
    #[arg(long, value_name = "FILE")]
    svg: PathBuf,
}

/// Nodes write each start to a file, which would slow them down at higher rates.
fn shown_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let is_shown = (100.0..=20_000.0).contains(&rate.as_hz());
    is_shown.then_some(rate).ok_or_else(|| "write a rate from 100/s to 20k/s".to_owned())
}

/// Runs the fleet, draws the picture and prints the account.
///
/// # Errors
/// Fails if no store can be started, a node fails, the account is wrong, or the picture cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let product = Product::ALL.into_iter().find(|product| product.is_installed());
    let product = product.with_context(|| {
        let ways = Product::ALL.map(|it| format!("{} ({})", it.program(), it.how_to_install()));
        format!("a fleet needs a store, and none is on PATH: install {}", ways.join(" or "))
    })?;
    let server = Server::start(product).with_context(|| format!("cannot start {product}"))?;
    let (outcome, events) = perform(&server, options.rate)?;
    println!("{}", outcome.summary());
    outcome.check(false)?;
    let record = Record::new(&outcome.nodes, events);
    fs::write(&options.svg, plot::svg(&record, &outcome.account, options.rate)?)?;
    Ok(())
}

fn perform(server: &Server, rate: Rate) -> Result<(Outcome, Vec<Event>)> {
    let shape = format!("hold {rate} {}s", LENGTH.as_secs());
    let mut trial = Trial::begin(&env::current_exe()?, &server.url(), &shape, NODES)?;
    trial.until(KILL_MS);
    let killed = trial.members.iter_mut().find(|member| member.number() == Some(2));
    killed.context("no second node")?.kill()?;
    let kill = Event { at: trial.elapsed(), what: "node 2 is killed (kill -9)".to_owned() };
    trial.until(JOIN_MS);
    trial.join()?;
    let number = trial.members.last().and_then(Member::number).context("no number")?;
    let join = Event { at: trial.elapsed(), what: format!("node {number} joins") };
    ensure!(join.at < LENGTH, "the node joined after the end");
    Ok((trial.end()?, vec![kill, join]))
}
