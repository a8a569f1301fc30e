//! How a node joins a run.

use crate::before_start::Waiting;
use crate::clock::{Leader, RunClock, Sample, Samples};
use crate::core::Core;
use crate::driver::Driver;
use crate::error::FleetError;
use crate::frames::{FRAME, Frames};
use crate::load::{Load, head_frames};
use crate::message::{Answer, Join, LoadText, Reply, Request, Run, State};
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

/// How long a node waits for its run to start.
const JOIN_TIMEOUT: Duration = Duration::from_secs(300);

/// How to take part in a run: which store, the run's name, and its load.
///
/// All nodes of a run give the same load, and the first one makes the run. A node without a load takes the run's.
///
/// ```no_run
/// use nanopace_fleet::Fleet;
///
/// let node = Fleet::new("redis://127.0.0.1/", "checkout")?
///     .rate("10k/s".parse()?)
///     .nodes(4)? // starts when four are there
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

/// Without the address, which may have a password.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fleet { run, shape, arrivals, nodes, name, .. } = self;
        let mut debug = f.debug_struct("Fleet");
        debug.field("run", run).field("shape", shape).field("arrivals", arrivals);
        debug.field("nodes", nodes).field("name", name).finish_non_exhaustive()
    }
}

/// A run's name, if it is one.
pub(crate) fn checked_name(name: &str) -> Result<&str, FleetError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = (1..=100).contains(&name.len()) && name.chars().all(is_plain);
    is_name.then_some(name).ok_or(FleetError::Name)
}

impl Fleet {
    /// The run `name` at the store with the address `url`: `redis://[user:password@]host[:port]/[db]`,
    /// or `rediss://` with the feature `tls`.
    ///
    /// # Errors
    /// [`FleetError::Address`], [`FleetError::Tls`] and [`FleetError::Name`].
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

    /// The rate of the whole fleet, without an end.
    #[must_use]
    pub fn rate(self, rate: Rate) -> Fleet {
        self.shape(Shape::constant(rate))
    }

    /// The shape of the whole fleet's load. It is sent as text, so it can't be a
    /// [custom](Shape::custom) one.
    #[must_use]
    pub fn shape(self, shape: Shape) -> Fleet {
        Fleet { shape: Some(shape), ..self }
    }

    /// The arrival process, as text such as `poisson`, and its seed. Even by default.
    #[must_use]
    pub fn arrivals(self, process: &str, seed: u64) -> Fleet {
        Fleet { arrivals: (process.to_owned(), seed), ..self }
    }

    /// The run starts when this many nodes are there, from 1 to 1000; 1 by default. More may join
    /// later. It counts for the node that makes the run.
    ///
    /// # Errors
    /// [`FleetError::Nodes`].
    pub fn nodes(self, nodes: u32) -> Result<Fleet, FleetError> {
        if !(1..=1000).contains(&nodes) {
            return Err(FleetError::Nodes);
        }
        Ok(Fleet { nodes, ..self })
    }

    /// A name for this node, such as its host; empty by default.
    #[must_use]
    pub fn name(self, name: &str) -> Fleet {
        Fleet { name: name.to_owned(), ..self }
    }

    /// The minimum length of a frame, from 1 ms to 10 s; 100 ms by default. A frame is longer than that if a round trip
    /// to the store is, and if more than 500 nodes are awaited: 0.2 ms for each. All nodes of a run use the longest
    /// minimum that was given before it started.
    ///
    /// A stall of up to two frames, of a node or of the store, has no effect. A node that dies loses its share of up to
    /// four and a half frames.
    #[must_use]
    pub fn frame(self, frame: Duration) -> Fleet {
        Fleet { frame: frame.max(Duration::from_millis(1)), ..self }
    }

    /// For how long the node goes on without the store, and its policy after that; 10 s and [`WhenBlind::Hold`] by
    /// default.
    #[must_use]
    pub fn blind(self, limit: Duration, then: WhenBlind) -> Fleet {
        Fleet { blind: (limit, then), ..self }
    }

    /// For how long the node waits for the run to start, 5 minutes by default. A node that has waited for
    /// longer takes part no more: one of the others may have failed, and would be awaited for ever.
    #[must_use]
    pub fn join_timeout(self, limit: Duration) -> Fleet {
        Fleet { join_timeout: limit, ..self }
    }

    /// Settings of the node's pacer: how it pauses, or [`skip_later_than`](PacerBuilder::skip_later_than). The fleet
    /// sets its shape, arrivals, shard, clock, start and end: [`until`](PacerBuilder::until) and
    /// [`slots`](PacerBuilder::slots) have no effect, because slots that a node claims after an end of its own would be
    /// lost. Do not set a strictness other than average: it would move this node's part of the common schedule.
    #[must_use]
    pub fn pacer(self, build: impl FnOnce(PacerBuilder) -> PacerBuilder + Send + 'static) -> Fleet {
        Fleet { build: Box::new(build), ..self }
    }

    /// Joins, and waits until the run starts, but not longer than [`join_timeout`](Fleet::join_timeout). If the load of
    /// a run with this name is over, and not all of its nodes are done, it first waits until they are done or silent,
    /// and then for two seconds in which they can read the account.
    ///
    /// # Errors
    /// [`FleetError`]; [`FleetError::NotStarted`] if that took too long.
    pub fn join(self) -> Result<Node, FleetError> {
        self.join_with(|_| ControlFlow::Continue(()))
    }

    /// Joins, and waits until the run starts or `watch` breaks off. It is called with what the node waits
    /// for, some fifty times a second.
    ///
    /// # Errors
    /// [`FleetError`]; [`FleetError::Waiting`] if `watch` has broken off, and [`FleetError::NotStarted`]
    /// if the run has not started in time.
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
                // The store was emptied, and others may have made the run again.
                Ok(_) => (id, run) = self.enter(&mut store, &clock, &mut samples, &mut waiting)?,
                // One answer that is late does not matter yet.
                Err(FleetError::Store(_) | FleetError::Cluster(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.start(store, clock, id, run, samples.best())
    }

    /// A load that can't be parsed must not become a run.
    fn load(&self, frames: Frames, shape: &Shape) -> Result<LoadText, FleetError> {
        let (arrivals, seed) = self.arrivals.clone();
        let shape = shape.to_string();
        let ends = Load::new(frames, &arrivals, seed, &shape)?.end();
        Ok(LoadText { shape, arrivals, seed, ends })
    }

    /// Joins as soon as no run of this name is ending.
    fn enter(
        &self,
        store: &mut RedisStore,
        clock: &RunClock,
        samples: &mut Samples,
        waiting: &mut Waiting<impl FnMut(Waits) -> ControlFlow<()>>,
    ) -> Result<(NodeId, Run), FleetError> {
        loop {
            if let Some(entered) = self.try_enter(store, clock, samples)? {
                return Ok(entered);
            }
            waiting.goes_on(Waits::ForTheEnd)?;
        }
    }

    /// None while a run of this name is ending.
    fn try_enter(
        &self,
        store: &mut RedisStore,
        clock: &RunClock,
        samples: &mut Samples,
    ) -> Result<Option<(NodeId, Run)>, FleetError> {
        let trip_ns = samples.best().round_trip_ns();
        let frames = Frames::sized(self.frame, Duration::from_nanos(trip_ns), self.nodes);
        let join = Join {
            name: self.name.clone(),
            id: format!("{:016x}", fastrand::u64(..)),
            awaited: self.nodes,
            frames,
            lead: frames.lead(2 * trip_ns),
            load: self.shape.as_ref().map(|shape| self.load(frames, shape)).transpose()?,
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
        run: Run,
        sample: Sample,
    ) -> Result<Node, FleetError> {
        let load = Load::of(&run)?;
        // Its schedule begins with the run: the clock stands there still.
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
