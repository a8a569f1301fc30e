//! A closed loop: `--rate max`. Each connection starts its next request when it has its answer, so nothing is
//! ever late, and no waiting is seen.
//!
//! For the engine it is the fastest rate there is, which never catches up: a slot is due whenever
//! somebody asks for one, and begins then.

use super::args::RunArgs;
use crate::judged::criteria::Criterion;
use anyhow::{bail, ensure};
use nanopace::Strictness;

/// What says when a request is due, and what happens if it is late.
const OF_A_SCHEDULE: [&str; 7] =
    ["arrivals", "har", "strictness", "max-backlog", "skip-later-than", "shard", "run"];

/// Makes a closed loop of a run that is to be one.
///
/// # Errors
/// An option was given that is about a schedule, which a closed loop has not, or a requirement that always
/// holds without one.
pub(crate) fn settle(args: &mut RunArgs) -> anyhow::Result<()> {
    if !args.schedule.is_closed {
        return Ok(());
    }
    if let Some(name) = OF_A_SCHEDULE.iter().find(|name| args.given.contains(**name)) {
        bail!("--{name}: --rate max has no schedule: leave one of them out");
    }
    let is_about_ratio = args.criteria().iter().any(Criterion::names_ratio);
    ensure!(
        !is_about_ratio,
        "--fail-below and requirements on the ratio always hold with --rate max, which asks for no rate; write for \
         example --fail-if \"achieved > 1k/s\""
    );
    args.strictness = Strictness::STRICT;
    Ok(())
}
