//! Reads and changes the state of a run, from any machine.

use crate::error::FleetError;
use crate::fleet::checked_name;
use crate::load::{Load, head_frames};
use crate::message::{Answer, FleetRun, NodeResults, Request, State, Version};
use crate::slot_account::{self, Account, account};
use crate::store::{RedisStore, Store};
use nanopace::{Level, Rate, Shape};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const TRIES: usize = 20;

/// The maximum time that a change waits for a node to confirm it. A node needs longer if it cannot reach the store, or
/// if its frames are very long.
const HEARD_IN: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(50);

/// Reads and changes the state of a run, from any machine.
///
/// A change applies from the same slot on all nodes, some frames after the call. The call returns as soon as a node has
/// confirmed the change, which takes about two frames. A confirmed change survives a loss of the store's data, because
/// nodes restore it. If no node confirms the change within 10 s, the call returns [`FleetError::Unheard`], and nodes
/// may still receive the change.
///
/// ```no_run
/// use nanopace_fleet::Control;
///
/// let control = Control::open("redis://127.0.0.1/", "checkout")?;
/// control.set_rate("20k/s".parse()?)?;
/// let account = control.account()?;
/// println!("{} of {} slots were started", account.started(), account.expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Control(Mutex<RedisStore>);

/// The status of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStatus {
    /// The ID of the run. Another run may have the same name later.
    pub id: String,
    /// Whether the run has started.
    pub has_started: bool,
    /// Whether the run has ended: all of its nodes have finished or count as dead. If all nodes die, the run ends with
    /// its load.
    pub has_ended: bool,
    /// Whether the run is paused.
    pub is_paused: bool,
    /// The number of nodes that take part in the run.
    pub nodes: u32,
    /// The number of nodes that must join before the run starts.
    pub awaited: u32,
    /// The time from the beginning of the load until the status was read, the load ended, or the last node left,
    /// whichever came first.
    pub elapsed: Duration,
    /// The length of the load, or `None` if it has no end.
    pub duration: Option<Duration>,
    /// The whole load, including all changes so far.
    pub shape: String,
    /// The arrival process of the load.
    pub arrivals: String,
    /// The length of a frame.
    pub frame: Duration,
    /// The number of times that the store's data was restored, or found to be incomplete.
    pub repairs: u64,
}

struct Now {
    run: FleetRun,
    load: Load,
    elapsed_ns: u64,
}

impl Control {
    /// Controls the run `name` at the store with the address `url`. The first request connects to the store.
    ///
    /// # Errors
    /// Returns [`FleetError::Address`] or [`FleetError::Tls`] if the address cannot be used, [`FleetError::Name`] if
    /// the name is not valid, and [`FleetError::NotBuilt`] without the feature `redis`.
    pub fn open(url: &str, name: &str) -> Result<Control, FleetError> {
        let store = RedisStore::new(url, checked_name(name)?)?;
        Ok(Control(Mutex::new(store)))
    }

    /// Returns the status of the run.
    ///
    /// # Errors
    /// Returns [`FleetError::NoRun`] if there is no run with this name, and [`FleetError::Store`] if the store does not
    /// respond.
    pub fn status(&self) -> Result<RunStatus, FleetError> {
        let Now { run, load, elapsed_ns } = self.now()?;
        let head_ns = run.frames.begins(head_frames());
        let duration = load.shape().duration();
        let left_ns = left(&run).map_or(u64::MAX, |frame| run.frames.begins(frame));
        let elapsed_ns = elapsed_ns.min(left_ns);
        let elapsed = Duration::from_nanos(elapsed_ns.saturating_sub(head_ns));
        let duration = duration.map(|time| time.saturating_sub(Duration::from_nanos(head_ns)));
        Ok(RunStatus {
            id: run.id,
            has_started: run.state != State::Waiting,
            has_ended: run.state == State::Ended,
            is_paused: load.is_paused(),
            nodes: u32::try_from(run.roster.nodes.len()).unwrap_or(u32::MAX),
            awaited: run.awaited,
            elapsed: duration.map_or(elapsed, |duration| elapsed.min(duration)),
            duration,
            shape: load.text(),
            arrivals: run.arrivals,
            frame: Duration::from_nanos(run.frames.frame_ns),
            repairs: run.epoch,
        })
    }

    /// Returns the account of the run's slots. It covers the load up to the end of the current frame, the end of the
    /// load, or the time at which the last node left, whichever is earliest.
    ///
    /// # Errors
    /// Returns [`FleetError::NoRun`] if there is no run with this name, [`FleetError::Waiting`] if the run has not
    /// started, [`FleetError::Store`] if the store does not respond, and [`FleetError::Contended`] if the run changed
    /// during every attempt.
    pub fn account(&self) -> Result<Account, FleetError> {
        for _ in 0..TRIES {
            let Now { run, mut load, elapsed_ns } = self.started()?;
            // The account includes the current frame, because some of its slots may have started. Nodes' clocks may
            // be slightly ahead.
            let now = run.frames.at(elapsed_ns + run.frames.frame_ns / 4) + 1;
            let until = load.end().unwrap_or(u64::MAX).min(left(&run).unwrap_or(now));
            if let Some(account) = account(&mut *self.store(), &run, &mut load, until)? {
                return Ok(account);
            }
        }
        Err(FleetError::Contended)
    }

    /// Returns the results that nodes have reported, sorted by node number: the final results of each node that has
    /// finished, and the last interim results of each other node.
    ///
    /// # Errors
    /// Returns [`FleetError::NoRun`] if there is no run with this name, and [`FleetError::Store`] if the store does not
    /// respond.
    pub fn results(&self) -> Result<Vec<NodeResults>, FleetError> {
        match self.store().call(&Request::Results)?.answer {
            Answer::Results(results) => Ok(results),
            Answer::Gone => Err(FleetError::NoRun),
            Answer::Foreign(run) => Err(FleetError::of_version(run)),
            _ => Err(FleetError::Damaged),
        }
    }

    /// Changes the rate of the whole fleet. The load still ends at the same time.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the load cannot be changed, or if no node has confirmed the change in time.
    pub fn set_rate(&self, rate: Rate) -> Result<(), FleetError> {
        let at = |rest: &Shape| match rest.duration() {
            Some(time) => Shape::hold(rate, time),
            None => Ok(Shape::constant(rate)),
        };
        self.change(|load, change, from| {
            Ok(match load.rest() {
                Some(rest) => Version::new(change, from, &paused(), Some(&at(rest)?)),
                None => Version::new(
                    change,
                    from,
                    &at(&load.behind(from).ok_or(FleetError::Over)?)?,
                    None,
                ),
            })
        })
    }

    /// Replaces the load of the whole fleet with `shape`, which starts at its beginning. If the load was paused, the
    /// pause ends.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the load cannot be changed, or if no node has confirmed the change in time.
    pub fn set_shape(&self, shape: &Shape) -> Result<(), FleetError> {
        self.change(|load, change, from| {
            load.behind(from).ok_or(FleetError::Over)?;
            Ok(Version::new(change, from, shape, None))
        })
    }

    /// Pauses the load of the whole fleet. [`resume`](Control::resume) continues the load where it was paused.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the load cannot be changed, or if no node has confirmed the change in time.
    pub fn pause(&self) -> Result<(), FleetError> {
        self.change(|load, change, from| {
            if load.is_paused() {
                return Err(FleetError::Paused("paused already"));
            }
            let rest = load.behind(from).ok_or(FleetError::Over)?;
            Ok(Version::new(change, from, &paused(), Some(&rest)))
        })
    }

    /// Resumes the load of the whole fleet after a pause.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the load cannot be changed, or if no node has confirmed the change in time.
    pub fn resume(&self) -> Result<(), FleetError> {
        self.change(|load, change, from| {
            let rest = load.rest().ok_or(FleetError::Paused("not paused"))?;
            Ok(Version::new(change, from, rest, None))
        })
    }

    /// Ends the load of the whole fleet.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the load cannot be changed, or if no node has confirmed the change in time.
    pub fn stop(&self) -> Result<(), FleetError> {
        self.change(|load, change, from| {
            load.behind(from).ok_or(FleetError::Over)?;
            Ok(Version { change, from, shape: None, rest: None })
        })
    }

    fn change(
        &self,
        edit: impl Fn(&Load, u64, u64) -> Result<Version, FleetError>,
    ) -> Result<(), FleetError> {
        for tried in 0..TRIES {
            let Now { run, load, elapsed_ns } = match self.started() {
                // The run existed at an earlier attempt, so the nodes will restore the store's data.
                Err(FleetError::NoRun) if tried > 0 => {
                    thread::sleep(LOOK);
                    continue;
                }
                now => now?,
            };
            if run.state == State::Ended {
                return Err(FleetError::Over);
            }
            let latest = run.versions.last().map_or(0, |latest| latest.from);
            // One more frame allows for the time until the store receives the change.
            let from = (run.first_unopened(elapsed_ns) + 1).max(latest + 1);
            let version = edit(&load, fastrand::u64(1..), from)?;
            let known = run.versions.len() as u64;
            let ends = load.changed(&version)?.end();
            let (id, behind, change) = (run.id.clone(), run.change(), version.clone());
            let change = Request::Change { id, known, behind, version: change, ends };
            let answer = self.store().call(&change)?.answer;
            match answer {
                Answer::Done if self.is_heard(&run, &version)? => return Ok(()),
                Answer::Done | Answer::TooLate | Answer::Gone => {}
                _ => return Err(FleetError::Replaced),
            }
        }
        Err(FleetError::Contended)
    }

    /// Waits until a node knows `version`, so that the version survives a loss of the store's data. Returns `false` if
    /// the store lost the version before a node knew it. `before` is the run without the version.
    fn is_heard(&self, before: &FleetRun, version: &Version) -> Result<bool, FleetError> {
        let began = Instant::now();
        while began.elapsed() < HEARD_IN {
            thread::sleep(LOOK);
            match self.is_known(before, version) {
                // No node knows the version yet, or the store lost its data, which the nodes will restore.
                Ok(None) | Err(FleetError::NoRun) => {}
                known => return known.map(|known| known == Some(true)),
            }
        }
        Err(FleetError::Unheard(HEARD_IN))
    }

    /// Returns `Some(true)` if a node knows the version, `None` if only the store has it, and `Some(false)` if the
    /// store has lost it.
    fn is_known(&self, before: &FleetRun, version: &Version) -> Result<Option<bool>, FleetError> {
        let run = self.now()?.run;
        if run.id != before.id {
            return Err(FleetError::Replaced);
        }
        if !run.versions.contains(version) {
            return Ok(Some(false));
        }
        let nodes = slot_account::nodes(&mut *self.store())?.0;
        let known = before.versions.len() as u64;
        Ok(nodes.iter().any(|node| node.knows(version, known)).then_some(true))
    }

    fn started(&self) -> Result<Now, FleetError> {
        let now = self.now()?;
        if now.run.state == State::Waiting {
            return Err(FleetError::Waiting(now.run.waits()));
        }
        Ok(now)
    }

    fn now(&self) -> Result<Now, FleetError> {
        let reply = self.store().call(&Request::Look { node: None })?;
        let run = match reply.answer {
            Answer::Run(run) => *run,
            Answer::Gone => return Err(FleetError::NoRun),
            Answer::Foreign(run) => return Err(FleetError::of_version(run)),
            _ => return Err(FleetError::Damaged),
        };
        let load = Load::of(&run)?;
        let elapsed_us = reply.now_us - run.origin_us;
        let has_started = run.state != State::Waiting;
        let elapsed_us = if has_started { u64::try_from(elapsed_us).unwrap_or(0) } else { 0 };
        Ok(Now { run, load, elapsed_ns: elapsed_us.saturating_mul(1_000) })
    }

    fn store(&self) -> std::sync::MutexGuard<'_, RedisStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn paused() -> Shape {
    Shape::constant(Level::ZERO)
}

fn left(run: &FleetRun) -> Option<u64> {
    run.roster.nodes.is_empty().then_some(run.left)
}
