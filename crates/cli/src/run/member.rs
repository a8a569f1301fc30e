//! A run that is a node of a fleet: its part of the load comes from a store.

use super::action::Action;
use super::asked::AskedLoad;
use super::load::span::RunLength;
use super::recording::stats::OperationStats;
use crate::fleet::address::RunAddress;
use crate::fleet::results::{Counts, Results};
use crate::fleet::whole::Whole;
use nanopace::{Nanos, Pacer, Rate, Shape};
use nanopace_console::{Progress, human};
use nanopace_fleet::{Control, FleetError, Node};
use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A node of a fleet.
#[derive(Debug)]
pub(crate) struct Member {
    at: RunAddress,
    node: Node,
    control: Control,
    /// When it joined.
    joined: Nanos,
    /// Whether somebody wants it to end.
    interrupted: Arc<AtomicBool>,
    has_left: Cell<bool>,
}

/// Who waits for other nodes looks this often.
const LOOK: Duration = Duration::from_millis(50);

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
    /// A node that has just joined the run at this address.
    pub(crate) fn new(
        at: RunAddress,
        node: Node,
        control: Control,
        interrupted: Arc<AtomicBool>,
    ) -> Member {
        let joined = node.pacer().now();
        Member { at, node, control, joined, interrupted, has_left: Cell::new(false) }
    }

    /// Whether the load had begun when it joined.
    pub(crate) fn is_late(&self) -> bool {
        self.joined > self.begins()
    }

    /// Where its part of the load starts: whoever joins later has no part in what was before.
    pub(crate) fn starts(&self) -> Nanos {
        self.begins().max(self.joined)
    }

    /// Starts this node's slots.
    pub(crate) fn pacer(&self) -> Pacer {
        self.node.pacer().clone()
    }

    /// When the load begins.
    pub(crate) fn begins(&self) -> Nanos {
        Nanos::ZERO + self.node.begins()
    }

    /// The length of this node's part: it ends with its last slot.
    pub(crate) fn length(&self, warmup: Duration) -> RunLength {
        RunLength {
            warmup: (self.begins() + warmup) - self.starts(),
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
        self.has_left.set(true);
        self.node.leave()
    }

    /// An error in the words of the command line.
    pub(crate) fn told(&self, error: FleetError) -> String {
        format!("{:#}", self.at.told(error))
    }

    /// Tells the store that this node is done, and what it has recorded; so many of the slots that it
    /// was granted were not started. Behind the load's end it waits for the others. Returns what all
    /// nodes have done, unless the fleet goes on.
    pub(crate) fn finish(
        self,
        stats: &OperationStats,
        not_started: u64,
    ) -> anyhow::Result<Option<Whole>> {
        let results = results(stats).to_bytes()?;
        let Member { at, node, control, interrupted, has_left, .. } = self;
        let id = node.run_id();
        let whole = node.not_started(not_started).and_then(|()| {
            let is_last = node.finish(results)?;
            let waits = !is_last && !has_left.get();
            let has_ended = is_last || waits && wait_for_all(&control, &id, &interrupted)?;
            has_ended.then(|| Whole::read(&control, &at.name)).transpose()
        });
        whole.map_err(|error| at.told(error))
    }
}

/// Waits until no node of the run is awaited any more. False if somebody has no time for that.
fn wait_for_all(control: &Control, id: &str, interrupted: &AtomicBool) -> Result<bool, FleetError> {
    let progress = Progress::of_a_job();
    loop {
        let status = control.status()?;
        let has_ended = status.has_ended && status.id == id;
        // Relaxed: nothing is published through the flag. No model: one flag, set once.
        if has_ended || status.id != id || interrupted.load(Ordering::Relaxed) {
            progress.end();
            return Ok(has_ended);
        }
        let plural = if status.nodes == 1 { " is" } else { "s are" };
        progress.show(&format!("{} node{plural} not done yet; Ctrl-C does not wait", status.nodes));
        thread::sleep(LOOK);
    }
}

fn results(stats: &OperationStats) -> Results {
    Results {
        counts: Counts {
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            unfinished: stats.unfinished,
            failures: stats.failures.iter().map(|(kind, n)| (kind.to_string(), *n)).collect(),
            statuses: stats.statuses.clone(),
        },
        wait: stats.wait.clone(),
        service: stats.service.clone(),
        response: stats.response.clone(),
        bounds: stats.bounds.clone(),
    }
}

/// Which node of which run it is, and when it came if it was late.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_is_a_few_words() {
        let alone = Standing { nodes: 1, blind: None, is_paused: false, is_over: false };
        let blind = Standing { nodes: 4, blind: Some(Duration::from_millis(1_230)), ..alone };
        assert_eq!([alone, blind].map(|it| it.to_string()), ["1 node", "4 nodes, blind for 1.2 s"]);
    }
}
