//! Checks the options `--rate max`, `--per-connection`, `--until-confident` and `--fail-fast`, and the options that
//! conflict with them.
//!
//! In a closed loop, a connection starts its next request when it has received the previous response. The engine treats
//! this as the highest rate without catching up: a slot is due as soon as a worker asks for a slot.

use super::args::RunArgs;
use crate::console::human;
use crate::judged::criteria::Criterion;
use crate::load::unsupported::RunKind::{ClosedLoop, PerConnection};
use anyhow::{Context, bail, ensure};
use nanopace::{Rate, Strictness};
use std::time::Duration;

pub(crate) fn settle_closed_loop(args: &mut RunArgs) -> anyhow::Result<()> {
    if !args.schedule.is_closed {
        return Ok(());
    }
    if let Some(name) = ClosedLoop.unsupported(&args.given) {
        bail!("--{name}: --rate max has no schedule: leave --{name} or --rate max out");
    }
    let is_about_waiting = args.criteria().iter().any(Criterion::is_about_waiting);
    ensure!(
        !is_about_waiting,
        "--rate max starts each request at once: --fail-below and requirements about wait times, lateness, the ratio, \
         unstarted or skipped requests cannot be missed; write for example --fail-if \"achieved > 1k/s\""
    );
    args.strictness = Strictness::STRICT;
    Ok(())
}

pub(crate) fn settle_per_connection(args: &mut RunArgs) -> anyhow::Result<()> {
    let Some(interval) = args.per_connection else { return Ok(()) };
    if let Some(name) = PerConnection.unsupported(&args.given) {
        bail!(
            "--{name}: --per-connection sets when each connection starts its requests: leave one of the two options out"
        );
    }
    let size = args.connections;
    ensure!(
        !size.grows(),
        "--connections {size}: with --per-connection, each connection adds to the rate: write one number"
    );
    let rate = Rate::per(size.most.into(), interval)
        .with_context(|| format!("--per-connection with {}", human::count(size, "connection")))?;
    args.schedule.rate = Some(rate);
    args.settings.insert("rate".to_owned(), rate.to_string().into());
    args.settings.remove("rate_is_default");
    Ok(())
}

pub(crate) fn check_workers(args: &RunArgs, is_blocking: bool) -> anyhow::Result<()> {
    let (size, is_closed) = (args.connections, args.schedule.is_closed);
    let fixed =
        |why| format!("--connections {size}: {why}: write one number, such as {}", size.most);
    let (grows, is_realtime) = (size.grows(), args.realtime);
    let refused = [
        (
            grows && is_closed,
            fixed("with --rate max, no request is due while all connections are busy"),
        ),
        (grows && is_blocking, fixed("with calls that block, each session has its own thread")),
        (
            args.per_connection.is_some() && is_blocking,
            "--per-connection: not for targets whose calls block: write --rate".to_owned(),
        ),
        (
            is_realtime && is_closed,
            "--realtime: with --rate max, load threads would keep other programs from running: \
             leave one of them out"
                .to_owned(),
        ),
        (
            is_realtime && (is_blocking || !cfg!(target_os = "linux")),
            "--realtime works only on Linux and with calls that do not block: leave it out"
                .to_owned(),
        ),
    ];
    refused
        .into_iter()
        .try_for_each(|(is_refused, told)| if is_refused { bail!(told) } else { Ok(()) })
}

const LONGEST: Duration = Duration::from_secs(600);

pub(crate) fn longest(args: &RunArgs) -> Option<Duration> {
    args.until_confident.as_ref().map(|_| args.longest.unwrap_or(LONGEST))
}

pub(crate) fn check_until_confident(args: &RunArgs) -> anyhow::Result<()> {
    if args.until_confident.is_none() {
        return Ok(());
    }
    for (name, is_given) in
        [("duration", args.duration.is_some()), ("requests", args.requests.is_some())]
    {
        ensure!(
            !is_given,
            "--until-confident and --{name} both end the run: leave out --{name}, or write --longest TIME instead"
        );
    }
    ensure!(
        args.fleet.run_name.is_none(),
        "--until-confident: no node of a fleet has the times of all nodes: leave out --until-confident or --run"
    );
    ensure!(
        args.schedule.shard.is_none(),
        "--until-confident: the parts of a load would end at different times: leave out --until-confident or --shard"
    );
    ensure!(
        args.schedule.constant_hz()?.is_some(),
        "--until-confident: the times of a changing load do not become more certain: write --rate RATE, without --shape or a recording"
    );
    Ok(())
}

pub(crate) fn check_fail_fast(args: &RunArgs) -> anyhow::Result<()> {
    if !args.fail_fast {
        return Ok(());
    }
    ensure!(
        args.fleet.run_name.is_none(),
        "--fail-fast: no node of a fleet has the results of all nodes: leave out --fail-fast or --run"
    );
    ensure!(
        args.criteria().iter().any(Criterion::can_end_run),
        "--fail-fast: no requirement can end the run: write for example --fail-if \"errors <= 1%\""
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_out_of_range_is_refused_with_the_option_that_sets_it() {
        let per_connection = Some(Duration::MAX);
        let mut args = RunArgs { per_connection, ..RunArgs::by_default() };
        let told = format!("{:#}", settle_per_connection(&mut args).unwrap_err());
        let expected = "--per-connection with 16 connections: that rate is too slow";
        assert!(told.starts_with(expected), "{told}");
    }
}
