//! A fleet at work on this machine: four processes of this program share a load, one of them is
//! killed, another joins. What is shown is what the processes say at each start, and the account.

mod chart;
pub(crate) mod node;
mod nodes;
mod plot;
mod record;

use super::account::AccountText;
use super::args::DemoArgs;
use crate::console::{ResultFile, chart as console};
use crate::interrupt::Interrupt;
use crate::run::member::address::RunAddress;
use anyhow::{Context, ensure};
use chart::Chart;
use nanopace_fleet::{Account, Control, FleetError, NodeAccount};
use nanopace_services::{Engine, Server};
use node::NODES;
use nodes::Nodes;
use record::{Event, LENGTH, Record};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// When this node is killed, and when another one joins.
const KILL: Duration = Duration::from_secs(4);
const KILLED: u16 = 2;
const JOIN: Duration = Duration::from_secs(6);
/// How often the chart is drawn.
const LOOK: Duration = Duration::from_millis(100);
/// How long all of it may take at most.
const PATIENCE: Duration = Duration::from_secs(40);

/// Shows it. Whether all nodes but the killed one have told what they did.
pub(crate) fn perform(args: &DemoArgs) -> anyhow::Result<(io::Result<()>, bool)> {
    let svg = args.svg.as_deref().map(ResultFile::create).transpose()?;
    let engine = Engine::ALL.into_iter().find(|engine| engine.is_installed());
    let engine = engine.with_context(|| {
        let ways = Engine::ALL.map(|it| format!("{} ({})", it.program(), it.how_to_install()));
        format!("a fleet needs a store, and none is on PATH: install {}", ways.join(" or "))
    })?;
    let interrupt = Interrupt::on_signals(1, || ())?;
    let server = Server::start(engine).with_context(|| format!("cannot start {engine}"))?;
    let at = RunAddress::new("--store", Some(&server.url()), "demo")?;
    let told = |error| at.told(error);
    let control = Control::open(at.url(), &at.name).map_err(told)?;
    let mut nodes = Nodes::new(&at, args.rate);
    (0..NODES).try_for_each(|_| nodes.start())?;
    let mut live = chart::Live::new(args.rate.as_hz());
    let began = Instant::now();
    while nodes.are_at_work() && !interrupt.is_triggered() {
        ensure!(began.elapsed() < PATIENCE, "the nodes have not ended");
        let elapsed = elapsed(&control).map_err(told)?;
        if elapsed >= KILL {
            nodes.kill(KILLED, elapsed)?;
        }
        if elapsed >= JOIN && nodes.count() == NODES as usize {
            nodes.start()?;
        }
        live.show(&nodes.record(), elapsed);
        std::thread::sleep(LOOK);
    }
    live.end();
    if interrupt.is_triggered() {
        return Ok((Ok(()), false));
    }
    let record = nodes.end();
    let account = control.account().map_err(told)?;
    let text = report(args, engine, &record, &account);
    let written = io::stdout().write_all(text.as_bytes());
    let drawn = svg.map_or(Ok(()), |svg| {
        let picture = plot::svg(&record, &account, args.rate.as_hz()).map_err(io::Error::other)?;
        svg.write_text(&picture)
    });
    let is_told =
        |node: &NodeAccount| node.number == KILLED || node.untold + node.perhaps_twice == 0;
    Ok((written.and(drawn), account.nodes.iter().all(is_told)))
}

/// For how long the load goes on; zero before it has begun.
fn elapsed(control: &Control) -> Result<Duration, FleetError> {
    match control.status() {
        Ok(status) if status.has_started => Ok(status.elapsed),
        Ok(_) | Err(FleetError::NoRun) => Ok(Duration::ZERO),
        Err(error) => Err(error),
    }
}

fn report(args: &DemoArgs, engine: Engine, record: &Record, account: &Account) -> String {
    let width = console::width(io::stdout().is_terminal());
    let hz = args.rate.as_hz();
    let event = |event: &Event| format!("{:>5.1} s   {}\n", event.at.as_secs_f64(), event.what);
    format!(
        "{NODES} nodes share {} for {} s, through {engine} on this machine\n\n{}\n{}\n{}{}{}",
        args.rate,
        LENGTH.as_secs(),
        Chart { record, hz, width, until: LENGTH },
        record.events.iter().map(event).collect::<String>(),
        record.course(hz),
        AccountText(account),
        record.told_too_late(account)
    )
}
