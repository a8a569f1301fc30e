//! Checks the options of a run that belongs to a fleet, and joins the fleet.

use super::args::RunArgs;
use super::member::address::RunAddress;
use super::member::args::FleetArgs;
use crate::load::schedule::args::ScheduleArgs;
use crate::load::unsupported::RunKind;
use anyhow::{bail, ensure};
use nanopace::{Shape, Strictness};
use nanopace_fleet::{Control, Fleet, FleetError, Node, Waits, WhenBlind};
use std::ops::ControlFlow;
use std::process;
use std::time::Duration;

const ONE_SCHEDULE: &str = "all nodes of a fleet share one schedule";

#[derive(Debug)]
pub(crate) struct Invitation {
    at: RunAddress,
    nodes: u32,
    load: Option<Shape>,
    arrivals: (String, u64),
    skip_later_than: Option<Duration>,
    frame: Option<Duration>,
    blind: (Duration, WhenBlind),
    join_timeout: Duration,
}

impl Invitation {
    /// Creates the invitation to a fleet. Returns `None` if the options name no fleet. A constant rate without a
    /// duration ends after `default`.
    pub(crate) fn new(args: &RunArgs, default: Duration) -> anyhow::Result<Option<Invitation>> {
        let Some(name) = &args.fleet.run_name else { return Ok(None) };
        let at = RunAddress::new("--fleet", args.fleet.fleet.as_deref(), name)?;
        refuse_what_is_not_shared(args)?;
        let load = args.fleet.gives_load.then(|| shape(args, default)).transpose()?;
        let control = Control::open(at.url(), name).map_err(|error| at.told(error))?;
        match control.status() {
            Err(FleetError::NoRun) if load.is_some() => {}
            asked => drop(asked.map_err(|error| at.told(error))?),
        }
        let FleetArgs { nodes, frame, blind, when_blind, join_timeout, .. } = args.fleet;
        let invitation = Invitation {
            at,
            nodes: nodes.unwrap_or(1),
            load,
            arrivals: (args.schedule.arrivals.to_string(), args.schedule.seed),
            skip_later_than: args.skip_later_than,
            frame,
            blind: (blind, when_blind.into()),
            join_timeout,
        };
        invitation.fleet().map_err(|error| invitation.at.told(error))?;
        Ok(Some(invitation))
    }

    pub(crate) fn at(&self) -> &RunAddress {
        &self.at
    }

    fn fleet(&self) -> Result<Fleet, FleetError> {
        let (process, seed) = &self.arrivals;
        let fleet = Fleet::new(self.at.url(), &self.at.name)?.nodes(self.nodes)?;
        let fleet = fleet.arrivals(process, *seed).name(&own_name());
        let fleet = fleet.blind(self.blind.0, self.blind.1).join_timeout(self.join_timeout);
        let fleet = match self.frame {
            Some(frame) => fleet.frame(frame),
            None => fleet,
        };
        let limit = self.skip_later_than;
        let fleet = fleet.pacer(move |builder| match limit {
            Some(limit) => builder.skip_later_than(limit),
            None => builder,
        });
        Ok(match &self.load {
            Some(load) => fleet.shape(load.clone()),
            None => fleet,
        })
    }

    /// Joins the fleet. While the node waits, calls `watch` with the condition for which the node waits. Returns `None`
    /// if `watch` ends the wait.
    pub(crate) fn join(
        &self,
        watch: impl FnMut(Waits) -> ControlFlow<()>,
    ) -> anyhow::Result<Option<(Node, Control)>> {
        let joined = self.fleet().and_then(|fleet| {
            let node = match fleet.join_with(watch) {
                Err(FleetError::Waiting(..)) => return Ok(None),
                node => node?,
            };
            let control = Control::open(self.at.url(), &self.at.name)?;
            Ok(Some((node, control)))
        });
        joined.map_err(|error| self.at.told(error))
    }
}

fn refuse_what_is_not_shared(args: &RunArgs) -> anyhow::Result<()> {
    ensure!(
        args.strictness == Strictness::AVERAGE,
        "--strictness {}: {ONE_SCHEDULE}: leave it out, or write --skip-later-than TIME",
        args.strictness
    );
    ensure!(
        args.max_backlog.is_none(),
        "--max-backlog: {ONE_SCHEDULE}: write --skip-later-than TIME instead"
    );
    ensure!(
        args.requests.is_none(),
        "--requests: the load of a fleet ends after a time, not after a number of requests: write --duration TIME"
    );
    if let Some(name) = RunKind::Node.unsupported(&args.given) {
        bail!("--{name} cannot be used with --run: leave it out");
    }
    if args.schedule.is_replay() {
        bail!(
            "--arrivals replay: a fleet cannot replay a recording: write --rate or --shape, or leave out --run"
        );
    }
    Ok(())
}

/// Returns the shape of the load. The load ends in the same way as the load of a run without a fleet.
fn shape(args: &RunArgs, default: Duration) -> anyhow::Result<Shape> {
    let ScheduleArgs { rate, shape, .. } = &args.schedule;
    let duration = args.duration.map(|duration| duration.saturating_add(args.warmup));
    match (rate, shape) {
        (Some(rate), None) => {
            let duration = duration.unwrap_or_else(|| default.saturating_add(args.warmup));
            Ok(Shape::hold(*rate, duration)?)
        }
        _ => match (args.schedule.shape()?, duration) {
            (shape, Some(duration)) => Ok(shape.take(duration)?),
            (shape, None) => Ok(shape),
        },
    }
}

fn own_name() -> String {
    #[cfg(unix)]
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let machine = std::env::var("COMPUTERNAME").unwrap_or_default();
    format!("{machine}:{}", process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::config;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        run: RunArgs,
    }

    fn read(line: &str) -> RunArgs {
        let words = line.split_whitespace().map(|word| word.replace('_', " ").into()).collect();
        let matches = config::matches(&CommandLine::command(), words).unwrap();
        let mut args = CommandLine::from_arg_matches(&matches).unwrap().run;
        args.settle(&CommandLine::command(), &matches);
        args
    }

    fn invited(line: &str) -> anyhow::Result<Option<Invitation>> {
        let args = read(&format!("test --fleet redis://127.0.0.1:1/ --run test {line}"));
        refuse_what_is_not_shared(&args)?;
        Invitation::new(&args, Duration::from_secs(10))
    }

    fn load(line: &str) -> Option<String> {
        let args = read(&format!("test --run test {line}"));
        let shape = args.fleet.gives_load.then(|| shape(&args, Duration::from_secs(10)).unwrap());
        shape.map(|shape| shape.to_string())
    }

    #[test]
    fn the_load_of_a_fleet_ends_like_that_of_a_run() {
        for (line, expected) in [
            ("", None),
            ("--nodes 4 -c 7", None),
            ("--rate 7/s", Some("hold 7/s 10s")),
            ("--seed 3", Some("hold 50/s 10s")),
            ("--rate 7/s --duration 1min --warmup 5s", Some("hold 7/s 65s")),
            ("--shape hold_7/s_20s --warmup 5s", Some("hold 7/s 20s")),
            ("--shape hold_7/s_20s,_hold_9/s_20s --duration 15s --warmup 5s", Some("hold 7/s 20s")),
        ] {
            let parsed = |text: &str| text.parse::<Shape>().unwrap().to_string();
            assert_eq!(load(line), expected.map(parsed), "{line}");
        }
    }

    #[test]
    fn a_store_that_does_not_answer_is_found_before_anything_starts() {
        let told = format!("{:#}", invited("--rate 7/s").unwrap_err());
        assert!(told.contains("no usable response from the store"), "{told}");
    }
}
