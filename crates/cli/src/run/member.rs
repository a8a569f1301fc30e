//! A run that is a node of a fleet: its part of the load comes from a store.

pub(crate) mod args;

use super::action::Action;
use super::args::RunArgs;
use super::asked::AskedLoad;
use super::load::span::RunLength;
use super::recording::stats::OperationStats;
use crate::fleet::address::RunAddress;
use crate::fleet::results::{Counts, Results};
use crate::fleet::whole::Whole;
use crate::schedule::args::ScheduleArgs;
use anyhow::{bail, ensure};
use nanopace::{Nanos, Pacer, Shape, Strictness};
use nanopace_console::human;
use nanopace_fleet::{Control, Fleet, FleetError, Node};
use std::fmt::{self, Display, Formatter};
use std::ops::ControlFlow;
use std::process;
use std::time::Duration;

const ONE_SCHEDULE: &str = "the nodes of a fleet keep to one schedule";

/// A fleet that can be joined.
#[derive(Debug)]
pub(crate) struct Invitation {
    at: RunAddress,
    nodes: u32,
    /// The whole load; none: whatever the run's is.
    load: Option<Shape>,
    arrivals: (String, u64),
    skip_later_than: Option<Duration>,
}

impl Invitation {
    /// To the fleet that the options name, if they name one. A load without an end lasts `default`.
    ///
    /// # Errors
    /// What can't be done in a fleet, and a store that does not answer.
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
        let nodes = args.fleet.nodes.unwrap_or(1);
        let arrivals = (args.schedule.arrivals.to_string(), args.schedule.seed);
        let invitation =
            Invitation { at, nodes, load, arrivals, skip_later_than: args.skip_later_than };
        invitation.fleet().map_err(|error| invitation.at.told(error))?;
        Ok(Some(invitation))
    }

    fn fleet(&self) -> Result<Fleet, FleetError> {
        let (process, seed) = &self.arrivals;
        let fleet = Fleet::new(self.at.url(), &self.at.name)?.nodes(self.nodes)?;
        let fleet = fleet.arrivals(process, *seed).name(&own_name());
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

    /// Joins, and waits for the others. None if `watch`, which is told how many are there and have to
    /// be, has broken off.
    pub(crate) fn join(
        &self,
        watch: impl FnMut(u32, u32) -> ControlFlow<()>,
    ) -> anyhow::Result<Option<Member>> {
        let joined = self.fleet().and_then(|fleet| {
            let node = match fleet.join_with(watch) {
                Err(FleetError::Waiting(..)) => return Ok(None),
                node => node?,
            };
            let control = Control::open(self.at.url(), &self.at.name)?;
            Ok(Some(Member { at: self.at.clone(), node, control }))
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
        "--max-backlog: {ONE_SCHEDULE}: write --skip-later-than TIME"
    );
    ensure!(
        args.requests.is_none(),
        "--requests: the load of a fleet ends by time: write --duration TIME"
    );
    ensure!(
        args.schedule.shard.is_none(),
        "--shard: the nodes of a fleet share the load by themselves: leave it out"
    );
    if args.schedule.is_replay() {
        bail!(
            "--arrivals replay: a fleet can't play a recording: write --shape, or leave --run out"
        );
    }
    Ok(())
}

/// The whole load, which ends like that of a run without a fleet.
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

/// What people call this node: its machine, and the number of the process.
fn own_name() -> String {
    #[cfg(unix)]
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let machine = std::env::var("COMPUTERNAME").unwrap_or_default();
    format!("{machine}:{}", process::id())
}

/// A node of a fleet.
#[derive(Debug)]
pub(crate) struct Member {
    at: RunAddress,
    node: Node,
    control: Control,
}

/// How a node is in its fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// How many nodes there are.
    pub(crate) nodes: u32,
    /// For how long this one has been without the store.
    pub(crate) blind: Option<Duration>,
    pub(crate) is_paused: bool,
    /// The fleet goes on without this node, or not at all.
    pub(crate) is_over: bool,
}

impl Standing {
    /// The part of the load that is this node's if all have the same.
    pub(crate) fn share(self) -> f64 {
        1.0 / f64::from(self.nodes)
    }
}

impl Display for Standing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plural = if self.nodes == 1 { "" } else { "s" };
        write!(f, "{} node{plural}", self.nodes)?;
        match self.blind {
            Some(blind) => write!(f, ", blind for {:.1} s", blind.as_secs_f64()),
            None => Ok(()),
        }
    }
}

impl Member {
    /// Starts this node's slots.
    pub(crate) fn pacer(&self) -> Pacer {
        self.node.pacer().clone()
    }

    /// When the load begins.
    pub(crate) fn begins(&self) -> Nanos {
        Nanos::ZERO + self.node.begins()
    }

    /// The length of this node's part from a moment on: it ends with its last slot.
    pub(crate) fn length(&self, warmup: Duration, from: Nanos) -> RunLength {
        RunLength {
            warmup: (self.begins() + warmup) - from,
            duration: Duration::MAX,
            slots: None,
            is_steady: false,
            ends_with_load: true,
            longest: Duration::MAX,
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        let status = self.node.status();
        Standing {
            nodes: status.nodes.max(1),
            blind: status.blind,
            is_paused: status.is_paused,
            is_over: status.is_over,
        }
    }

    /// The whole load as text, with all changes so far.
    pub(crate) fn load(&self) -> String {
        self.node.shape()
    }

    /// The fair share of the load as it is now, from a moment on.
    pub(crate) fn asked(&self, from: Nanos) -> anyhow::Result<AskedLoad> {
        let past = from - self.begins();
        Ok(AskedLoad::of_fleet(from, self.load().parse()?, past, self.standing().share()))
    }

    /// Which node of which run it is.
    pub(crate) fn title(&self) -> String {
        format!("node {} of {}", self.node.number(), self.at.name)
    }

    /// Changes the load of the whole fleet. `hz` is what it is now.
    pub(crate) fn act(&self, action: Action, hz: f64) -> Result<(), FleetError> {
        let scaled = |factor: f64| {
            // A rate at the end of the range stays as it is.
            let rate = nanopace::Rate::from_hz(human::four_digits(hz * factor));
            rate.map_or(Ok(()), |rate| self.control.set_rate(rate))
        };
        match action {
            Action::SetRate(rate) => self.control.set_rate(rate),
            Action::SetShape(shape) => self.control.set_shape(&shape),
            Action::Faster => scaled(1.1),
            Action::Slower => scaled(1.0 / 1.1),
            Action::Pause => self.pause(true),
            Action::Resume => self.pause(false),
            Action::TogglePause => self.pause(!self.standing().is_paused),
            // The loops end before they come here.
            Action::Stop => Ok(()),
        }
    }

    fn pause(&self, is_paused: bool) -> Result<(), FleetError> {
        let done = if is_paused { self.control.pause() } else { self.control.resume() };
        match done {
            // It is as it should be.
            Err(FleetError::Paused(_)) => Ok(()),
            done => done,
        }
    }

    /// Takes no more slots: the others get them.
    pub(crate) fn leave(&self) -> Result<(), FleetError> {
        self.node.leave()
    }

    /// An error in the words of the command line.
    pub(crate) fn told(&self, error: FleetError) -> String {
        format!("{:#}", self.at.told(error))
    }

    /// Tells the store that this node is done, and what it has recorded; so many of the slots that it
    /// was granted were not started. Returns what all nodes have done, if this one was the last.
    pub(crate) fn finish(
        self,
        stats: &OperationStats,
        not_started: u64,
    ) -> anyhow::Result<Option<Whole>> {
        let results = results(stats).to_bytes()?;
        let Member { at, node, control } = self;
        let whole = node.not_started(not_started).and_then(|()| {
            let is_last = node.finish(results)?;
            is_last.then(|| Whole::read(&control, &at.name)).transpose()
        });
        whole.map_err(|error| at.told(error))
    }
}

fn results(stats: &OperationStats) -> Results {
    Results {
        counts: Counts {
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            unfinished: stats.unfinished,
            at_least: stats.at_least,
            failures: stats.failures.iter().map(|(kind, n)| (kind.to_string(), *n)).collect(),
            statuses: stats.statuses.clone(),
        },
        wait: stats.wait.clone(),
        service: stats.service.clone(),
        response: stats.response.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    fn invited(line: &str) -> anyhow::Result<Option<Invitation>> {
        let words = format!("nanopace run --fleet redis://127.0.0.1:1/ --run test {line}");
        let command = Cli::read(words.split_whitespace().map(Into::into))?;
        let crate::args::Command::Run(args) = command else { panic!("{line} is a run") };
        refuse_what_is_not_shared(&args)?;
        Invitation::new(&args, Duration::from_secs(10))
    }

    fn load(line: &str) -> Option<String> {
        let words = format!("nanopace run --run test {line}");
        let command = Cli::read(words.split_whitespace().map(|word| word.replace('_', " ").into()));
        let Ok(crate::args::Command::Run(args)) = command else { panic!("{line} is a run") };
        let shape = args.fleet.gives_load.then(|| shape(&args, Duration::from_secs(10)).unwrap());
        shape.map(|shape| shape.to_string())
    }

    #[test]
    fn the_load_of_a_fleet_ends_like_that_of_a_run() {
        for (line, expected) in [
            ("", None),
            ("--nodes 4 -c 7", None),
            ("--rate 7/s", Some("hold 7/s 10s")),
            ("--seed 3", Some("hold 5000/s 10s")),
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
        assert!(told.contains("does not answer"), "{told}");
    }

    #[test]
    fn a_standing_is_a_few_words() {
        let alone = Standing { nodes: 1, blind: None, is_paused: false, is_over: false };
        let blind = Standing { nodes: 4, blind: Some(Duration::from_millis(1_230)), ..alone };
        assert_eq!([alone, blind].map(|it| it.to_string()), ["1 node", "4 nodes, blind for 1.2 s"]);
    }
}
