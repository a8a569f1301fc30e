//! Configures how a node joins a run, and joins it.

use crate::before_start::Waiting;
use crate::clock::{Leader, RunClock, Sample, Samples};
use crate::core::Core;
use crate::driver::Driver;
use crate::error::FleetError;
use crate::frames::{FRAME, Frames};
use crate::load::{Load, head_frames};
use crate::message::{Answer, FleetRun, Join, LoadText, Reply, Request, State};
use crate::node::{Node, Shared};
use crate::round_trips::RoundTrips;
use crate::start_barrier::Waits;
use crate::store::{RedisStore, Store};
use crate::store_outage::{StoreOutage, WhenBlind};
use crate::store_threads::{ResultsThread, StoreThread};
use crate::track_ownership::NodeId;
use nanopace::{Pacer, PacerBuilder, Rate, Shape, driver};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const JOIN_TIMEOUT: Duration = Duration::from_secs(300);

/// Configures a node that takes part in a run.
///
/// The first node to join creates the run, and must set a load. The other nodes must set the same load, arrivals and
/// seed, or no load to use those of the run.
///
/// ```no_run
/// use nanopace_fleet::Fleet;
///
/// let node = Fleet::new("redis://127.0.0.1/", "checkout")?
///     .rate("10k/s".parse()?)
///     .nodes(4)? // starts when four have joined
///     .join()?;
/// while let Ok(grant) = node.pacer().acquire() {
///     // this node's slots of 10 000 per second
///     println!("{:?} late", grant.wait_time());
/// }
/// node.finish(Vec::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fleet {
    url: String,
    run: String,
    shape: Option<Shape>,
    arrivals: (String, u64),
    nodes: u32,
    name: String,
    frame: Duration,
    blind: (Duration, WhenBlind),
    join_timeout: Duration,
    build: Box<dyn FnOnce(PacerBuilder) -> PacerBuilder + Send>,
}

/// Omits the address, because it may contain a password.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fleet { run, shape, arrivals, nodes, name, .. } = self;
        let mut debug = f.debug_struct("Fleet");
        debug.field("run", run).field("shape", shape).field("arrivals", arrivals);
        debug.field("nodes", nodes).field("name", name).finish_non_exhaustive()
    }
}

pub(crate) fn checked_name(name: &str) -> Result<&str, FleetError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = (1..=100).contains(&name.len()) && name.chars().all(is_plain);
    is_name.then_some(name).ok_or(FleetError::Name)
}

impl Fleet {
    /// Configures a node of the run `name` at the store with the address `url`, for example
    /// `redis://[user:password@]host[:port]/[db]`, or `redis+sentinel://host[:port]/name` for sentinels. With the
    /// feature `tls`, `rediss` can replace `redis`.
    ///
    /// # Errors
    /// Returns [`FleetError::Address`] or [`FleetError::Tls`] if the address cannot be used, [`FleetError::Name`] if
    /// the name is not valid, and [`FleetError::NotBuilt`] without the feature `redis`.
    pub fn new(url: &str, name: &str) -> Result<Fleet, FleetError> {
        RedisStore::new(url, name)?;
        Ok(Fleet {
            url: url.to_owned(),
            run: checked_name(name)?.to_owned(),
            shape: None,
            arrivals: ("even".to_owned(), 0),
            nodes: 1,
            name: String::new(),
            frame: FRAME,
            blind: (Duration::from_secs(10), WhenBlind::default()),
            join_timeout: JOIN_TIMEOUT,
            build: Box::new(|builder| builder),
        })
    }

    /// Sets the load of the whole fleet to a constant rate that never ends.
    #[must_use]
    pub fn rate(self, rate: Rate) -> Fleet {
        self.shape(Shape::constant(rate))
    }

    /// Sets the load of the whole fleet to a shape. The shape is stored as a string, so it cannot be a
    /// [custom](Shape::custom) shape.
    #[must_use]
    pub fn shape(self, shape: Shape) -> Fleet {
        Fleet { shape: Some(shape), ..self }
    }

    /// Sets the arrival process, given as a string such as `poisson`, and the seed of its random numbers. The default
    /// process is `even`.
    #[must_use]
    pub fn arrivals(self, process: &str, seed: u64) -> Fleet {
        Fleet { arrivals: (process.to_owned(), seed), ..self }
    }

    /// Sets the number of nodes that must join before the run starts, from 1 to 1000. The default is 1. If nodes set
    /// different numbers, the one that was set by the creator of the run applies. More nodes can join later.
    ///
    /// # Errors
    /// Returns [`FleetError::Nodes`] if the number is out of range.
    pub fn nodes(self, nodes: u32) -> Result<Fleet, FleetError> {
        if !(1..=1000).contains(&nodes) {
            return Err(FleetError::Nodes);
        }
        Ok(Fleet { nodes, ..self })
    }

    /// Sets a name for this node, such as the host name of its machine. The default is an empty name.
    #[must_use]
    pub fn name(self, name: &str) -> Fleet {
        Fleet { name: name.to_owned(), ..self }
    }

    /// Sets the minimum length of a frame, from 1 ms to 10 s. The default is 100 ms. A frame is at least as long as a
    /// round trip to the store, and lasts at least 0.2 ms for each node that must join before the start. All nodes of a
    /// run use the longest frame that any node has required before the run started.
    ///
    /// If a node or the store stalls for up to two frames, no slot is lost. If a node dies, its slots of up to 4.5
    /// frames and two round trips to the store are lost, and all slots by which it was late.
    #[must_use]
    pub fn frame(self, frame: Duration) -> Fleet {
        Fleet { frame: frame.max(Duration::from_millis(1)), ..self }
    }

    /// Sets how long the node continues without the store, and what it does when this time has passed. The defaults are
    /// 10 s and [`WhenBlind::Hold`].
    #[must_use]
    pub fn blind(self, limit: Duration, then: WhenBlind) -> Fleet {
        Fleet { blind: (limit, then), ..self }
    }

    /// Sets how long the node waits for the run to start. The default is 5 minutes. If the run has not started by then,
    /// [`join`](Fleet::join) fails. This prevents an endless wait if another node has failed before it joined.
    #[must_use]
    pub fn join_timeout(self, limit: Duration) -> Fleet {
        Fleet { join_timeout: limit, ..self }
    }

    /// Configures the node's pacer, for example with [`skip_later_than`](PacerBuilder::skip_later_than).
    ///
    /// * Do not set arrivals, a shard, a clock or a start: the fleet sets them.
    /// * [`until`](PacerBuilder::until) and [`slots`](PacerBuilder::slots) have no effect, because slots that a node
    ///   claims after its own end would be lost.
    /// * Do not set a maximum backlog, or a strictness other than average. They would move this node's part of the
    ///   common schedule.
    #[must_use]
    pub fn pacer(self, build: impl FnOnce(PacerBuilder) -> PacerBuilder + Send + 'static) -> Fleet {
        Fleet { build: Box::new(build), ..self }
    }

    /// Joins the run, and waits until it starts, for at most [`join_timeout`](Fleet::join_timeout).
    ///
    /// If a run with this name has reached the end of its load, but some of its nodes have not finished, this call
    /// first waits until they have finished or count as dead. If several nodes had joined that run, the call waits for
    /// two more seconds, so that they can read the account of the run.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the node cannot join, for example [`FleetError::NotStarted`] if the run has not
    /// started in time.
    pub fn join(self) -> Result<Node, FleetError> {
        self.join_with(|_| ControlFlow::Continue(()))
    }

    /// Joins the run, and waits until it starts, or until `watch` ends the wait. While the node waits, it calls `watch`
    /// up to fifty times a second with the condition for which it waits.
    ///
    /// # Errors
    /// Returns a [`FleetError`] if the node cannot join: [`FleetError::Waiting`] if `watch` has ended the wait,
    /// [`FleetError::NotStarted`] if the run has not started in time, and other errors as for [`join`](Fleet::join).
    pub fn join_with(
        self,
        watch: impl FnMut(Waits) -> ControlFlow<()>,
    ) -> Result<Node, FleetError> {
        let mut waiting = Waiting::new(watch, self.join_timeout);
        let mut store = RedisStore::new(&self.url, &self.run)?;
        let clock = RunClock::standing();
        let mut samples = Samples::default();
        while !samples.are_enough() {
            samples.add(trip(&mut store, &clock, &Request::Look { node: None })?.1);
        }
        store.check_policy()?;
        let (mut id, mut run) = self.enter(&mut store, &clock, &mut samples, &mut waiting)?;
        while run.state == State::Waiting {
            if let Err(error) = waiting.goes_on(run.waits()) {
                let portions = Vec::new();
                let _ = store.call(&Request::Leave { id: run.id, node: id, from: 0, portions });
                return Err(error);
            }
            match trip(&mut store, &clock, &Request::Look { node: Some((run.id.clone(), id)) }) {
                Ok((Answer::Run(news), sample)) if news.id == run.id => {
                    samples.add(sample);
                    run = *news;
                }
                // The store has lost its data or has another run, so the node joins again. Other nodes may have created
                // the run again. A node without a load waits until they have.
                Ok(_) => match self.enter(&mut store, &clock, &mut samples, &mut waiting) {
                    Err(FleetError::NoRun) => {}
                    entered => (id, run) = entered?,
                },
                // The node tries again, because an outage does no harm before the start.
                Err(FleetError::Store(_) | FleetError::Cluster(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.start(store, clock, id, run, samples.best())
    }

    /// Returns this node's load and its end. A node without a load of its own reads the end of the run's load, because
    /// longer frames change the end. Returns an error if the strings cannot be parsed, so that no run begins with an
    /// invalid load.
    fn load(
        &self,
        store: &mut RedisStore,
        frames: Frames,
    ) -> Result<(Option<LoadText>, Option<u64>), FleetError> {
        let Some(shape) = &self.shape else {
            let ends = match store.call(&Request::Look { node: None })?.answer {
                Answer::Run(run) => Load::of(&FleetRun { frames, ..*run })?.end(),
                _ => None,
            };
            return Ok((None, ends));
        };
        let (arrivals, seed) = self.arrivals.clone();
        let shape = shape.to_string();
        let ends = Load::new(frames, &arrivals, seed, &shape)?.end();
        Ok((Some(LoadText { shape, arrivals, seed }), ends))
    }

    fn enter(
        &self,
        store: &mut RedisStore,
        clock: &RunClock,
        samples: &mut Samples,
        waiting: &mut Waiting<impl FnMut(Waits) -> ControlFlow<()>>,
    ) -> Result<(NodeId, FleetRun), FleetError> {
        loop {
            if let Some(entered) = self.try_enter(store, clock, samples)? {
                return Ok(entered);
            }
            waiting.goes_on(Waits::ForTheEnd)?;
        }
    }

    fn try_enter(
        &self,
        store: &mut RedisStore,
        clock: &RunClock,
        samples: &mut Samples,
    ) -> Result<Option<(NodeId, FleetRun)>, FleetError> {
        let trip_ns = samples.best().round_trip_ns();
        let frames = Frames::sized(self.frame, Duration::from_nanos(trip_ns), self.nodes);
        let (load, ends) = self.load(store, frames)?;
        let join = Join {
            name: self.name.clone(),
            id: format!("{:016x}", fastrand::u64(..)),
            awaited: self.nodes,
            frames,
            lead: frames.lead(2 * trip_ns),
            load,
            ends,
        };
        let (answer, sample) = trip(store, clock, &Request::Join(join))?;
        samples.add(sample);
        match answer {
            Answer::Joined(id, run) => Ok(Some((id, *run))),
            Answer::Ending => Ok(None),
            Answer::Gone => Err(FleetError::NoRun),
            Answer::Foreign(run) => Err(FleetError::of_version(run)),
            Answer::Differs(run) => {
                let first = run.versions.into_iter().next().and_then(|first| first.shape);
                Err(FleetError::Differs(first.unwrap_or_default()))
            }
            _ => Err(FleetError::Damaged),
        }
    }

    fn start(
        self,
        store: RedisStore,
        clock: RunClock,
        id: NodeId,
        run: FleetRun,
        sample: Sample,
    ) -> Result<Node, FleetError> {
        let load = Load::of(&run)?;
        // The pacer's schedule begins at the beginning of the run. The run's clock does not advance yet.
        let builder = Pacer::shaped(load.followed()?).arrivals(load.arrivals()?);
        let builder = (self.build)(builder).slots(u64::MAX).until(Duration::MAX);
        let pacer = driver::leased(builder).clock(clock.clone()).build();
        let leader = Leader::new(&clock, &sample, run.origin_us);
        let blind = StoreOutage::new(self.blind.0, self.blind.1);
        let trips = RoundTrips::new(sample.round_trip_ns());
        let telling =
            ResultsThread::start(RedisStore::new(&self.url, &self.run)?, run.id.clone(), id)?;
        let core = Core::new(id, run, (blind, trips), clock.now_ns())?;
        let (sender, words) = channel();
        let shared = Arc::new(Shared::new(core.run()));
        let head = Duration::from_nanos(core.run().frames.begins(head_frames()));
        let driver = Driver {
            core,
            link: StoreThread::start(store, clock.clone(), sender.clone())?,
            clock,
            leader,
            pacer: pacer.clone(),
            shared: Arc::clone(&shared),
            words,
            later: VecDeque::new(),
            not_started: 0,
        };
        let thread = thread::Builder::new().name("nanopace fleet".into()).spawn(|| driver.run())?;
        Ok(Node { pacer, shared, words: Some(sender), telling, thread: Some(thread), id, head })
    }
}

fn trip(
    store: &mut impl Store,
    clock: &RunClock,
    request: &Request,
) -> Result<(Answer, Sample), FleetError> {
    let sent_ns = clock.base_ns();
    let Reply { now_us, answer } = store.call(request)?;
    Ok((answer, Sample { sent_ns, received_ns: clock.base_ns(), store_us: now_us }))
}
