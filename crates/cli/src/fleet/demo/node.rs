//! A node of the demonstration: a process whose operation is to say that it starts.

use super::record::LENGTH;
use crate::run::member::address::RunAddress;
use nanopace::{Rate, Shape};
use nanopace_fleet::Fleet;
use std::io::{self, Write};
use std::process;

/// How many nodes begin.
pub(super) const NODES: u32 = 4;

/// Starts its slots, until the load is over or nobody listens. The first line is its number and when
/// it joined. Each other line says when a slot started, on the schedule and in fact. Moments are in
/// nanoseconds since the load began.
pub(crate) fn work(at: &RunAddress, rate: Rate) -> anyhow::Result<()> {
    let fleet = Fleet::new(at.url(), &at.name).and_then(|fleet| fleet.nodes(NODES));
    let shape = Shape::hold(rate, LENGTH)?;
    let node = fleet
        .and_then(|fleet| fleet.shape(shape).name(&format!("process {}", process::id())).join());
    let node = node.map_err(|error| at.told(error))?;
    let begins = nanopace::Nanos::ZERO + node.begins();
    let mut out = io::stdout().lock();
    let joined = node.pacer().now() - begins;
    out.write_all(format!("{} {}\n", node.number(), joined.as_nanos()).as_bytes())?;
    while let Ok(grant) = node.pacer().acquire() {
        let [intended, actual] =
            [grant.intended_start(), grant.actual_start()].map(|at| (at - begins).as_nanos());
        // One write: what was written before the process is killed is a whole line.
        out.write_all(format!("{intended} {actual}\n").as_bytes())?;
        out.flush()?;
    }
    node.finish(Vec::new()).map_err(|error| at.told(error))?;
    Ok(())
}
