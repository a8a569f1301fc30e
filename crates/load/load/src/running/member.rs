//! Implements a node of a fleet: a run whose slots come from the store.

pub(crate) mod address;
pub(crate) mod args;
mod overview;

use super::workers::any_backend::AnyBackend;
use super::workers::length::{RunLength, Spacing};
use crate::console::{Progress, human};
use crate::load::action::Action;
use crate::load::own_times::{self, OwnTimes};
use crate::results::nodes::results::Results;
use crate::results::nodes::timeline::Timeline;
use crate::results::outcome::Outcome;
use crate::results::over_time::Interval;
use crate::results::stats::OperationStats;
use crate::shown::standing::Standing;
use address::RunAddress;
use nanopace::{Nanos, Pacer, Rate, Shape};
use nanopace_fleet::{Control, FleetError, Node};
use overview::Overview;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) struct Member {
    at: RunAddress,
    node: Node,
    control: Control,
    joined: Nanos,
    interrupted: Arc<AtomicBool>,
    has_left: Cell<bool>,
    timeline: RefCell<Timeline>,
    target: Arc<dyn AnyBackend>,
    /// The sum of the target's own times so far. Each report to the fleet contains the sum.
    own_times: RefCell<Vec<OwnTimes>>,
    overview: Overview,
}

/// The interval at which a node that has finished checks whether all other nodes have finished.
const LOOK: Duration = Duration::from_millis(50);

impl Member {
    pub(crate) fn new(
        at: RunAddress,
        node: Node,
        control: Control,
        interrupted: Arc<AtomicBool>,
        target: Arc<dyn AnyBackend>,
    ) -> anyhow::Result<Member> {
        let joined = node.pacer().now();
        let overview = Overview::start(&at).map_err(|error| at.told(error))?;
        Ok(Member {
            at,
            node,
            control,
            joined,
            interrupted,
            has_left: Cell::new(false),
            timeline: RefCell::new(Timeline::new()),
            target,
            own_times: RefCell::default(),
            overview,
        })
    }

    pub(crate) fn is_late(&self) -> bool {
        self.joined > self.begins()
    }

    /// Returns the time from which the node starts slots. A node that joins late does not start the slots that were due
    /// before it joined.
    pub(crate) fn starts(&self) -> Nanos {
        self.begins().max(self.joined)
    }

    /// Returns the number of the second of the load that contains a time. All nodes number the seconds in the same way.
    pub(crate) fn second(&self, at: Nanos) -> u64 {
        (at - self.begins()).as_secs()
    }

    pub(crate) fn next_second(&self, at: Nanos) -> Nanos {
        self.begins() + Duration::from_secs(self.second(at) + 1)
    }

    pub(crate) fn record(&self, from: Nanos, interval: &Interval, outcomes: &[Outcome]) {
        let mut timeline = self.timeline.borrow_mut();
        timeline.add(from - self.begins(), interval);
        for outcome in outcomes {
            timeline.count(outcome.intended_start - self.begins(), outcome);
        }
    }

    pub(crate) fn tell(&self, at: Nanos, stats: &OperationStats) {
        // If the results cannot be serialized, nothing is reported. The next report may succeed.
        if let Ok(results) = self.results(at, stats).to_bytes() {
            self.node.tell(results);
        }
    }

    fn results(&self, at: Nanos, stats: &OperationStats) -> Results {
        Results {
            until: at - self.begins(),
            stats: stats.clone(),
            own_times: self.own_times(),
            timeline: self.timeline.borrow().clone(),
        }
    }

    pub(crate) fn own_times(&self) -> Vec<OwnTimes> {
        let mut sum = self.own_times.borrow_mut();
        own_times::add(&mut sum, self.target.take_own_times());
        sum.clone()
    }

    pub(crate) fn pacer(&self) -> Pacer {
        self.node.pacer().clone()
    }

    pub(crate) fn begins(&self) -> Nanos {
        Nanos::ZERO + self.node.begins()
    }

    pub(crate) fn length(&self, warmup: Duration) -> RunLength {
        RunLength {
            warmup: (self.begins() + warmup) - self.starts(),
            duration: Duration::MAX,
            most: None,
            counted: None,
            slots: None,
            spacing: Spacing::Other,
            is_steady: false,
            share: 1.0,
            constant_hz: None,
            is_closed: false,
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
            all: self.overview.text(status.is_first),
            is_over: status.is_over,
        }
    }

    pub(crate) fn load(&self) -> String {
        self.node.shape()
    }

    pub(crate) fn title(&self) -> String {
        format!("node {} of {}", self.node.number(), self.at.name)
    }

    pub(crate) fn act(&self, action: Action, hz: f64) -> Result<(), FleetError> {
        let scaled = |factor: f64| {
            let rate = Rate::from_hz(human::four_digits(hz * factor));
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
            Action::Stop => Ok(()),
        }
    }

    fn pause(&self, is_paused: bool) -> Result<(), FleetError> {
        let done = if is_paused { self.control.pause() } else { self.control.resume() };
        match done {
            // The run is already in the requested state, so the action has succeeded.
            Err(FleetError::Paused(_)) => Ok(()),
            done => done,
        }
    }

    pub(crate) fn leave(&self) -> Result<(), FleetError> {
        self.has_left.set(true);
        self.node.leave()
    }

    pub(crate) fn told(&self, error: FleetError) -> String {
        format!("{:#}", self.at.told(error))
    }

    /// Reports this node's results, and then, unless the node has left, waits until all nodes have finished. Returns a
    /// connection for reading the results of all nodes, or `None` if it is unknown whether all nodes have finished.
    pub(crate) fn finish(
        self,
        stats: &OperationStats,
        not_started: u64,
    ) -> anyhow::Result<Option<(RunAddress, Control)>> {
        let results = self.results(self.node.pacer().now(), stats).to_bytes()?;
        let Member { at, node, control, interrupted, has_left, .. } = self;
        let id = node.run_id();
        let has_ended = node.not_started(not_started).and_then(|()| {
            let is_last = node.finish(results)?;
            let waits = !is_last && !has_left.get();
            Ok(is_last || waits && wait_for_all(&control, &id, &interrupted)?)
        });
        let has_ended = has_ended.map_err(|error| at.told(error))?;
        Ok(has_ended.then_some((at, control)))
    }
}

/// Returns `false` if the user ended the wait or another run has replaced this one.
fn wait_for_all(control: &Control, id: &str, interrupted: &AtomicBool) -> Result<bool, FleetError> {
    let progress = Progress::of_a_job();
    loop {
        let status = control.status()?;
        let has_ended = status.has_ended && status.id == id;
        // Relaxed: no other data is published through the flag. No loom model: there is one flag, which is set once.
        if has_ended || status.id != id || interrupted.load(Ordering::Relaxed) {
            progress.end();
            return Ok(has_ended);
        }
        let plural = if status.nodes == 1 { " is" } else { "s are" };
        progress.show(&format!("{} node{plural} not done yet; Ctrl-C ends the wait", status.nodes));
        thread::sleep(LOOK);
    }
}

impl Debug for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title())?;
        if !self.is_late() {
            return Ok(());
        }
        write!(f, " joined at {}", human::time(self.joined - self.begins()))?;
        let duration = self.load().parse::<Shape>().ok().and_then(|shape| shape.duration());
        duration.map_or(Ok(()), |duration| write!(f, " of {}", human::time(duration)))
    }
}
