//! Defines the setup of a simulation.

use crate::frames::FRAME;
use std::time::Duration;

/// A run, and the faults that happen during it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of nodes at the beginning.
    pub nodes: u32,
    /// The load as a string. It must have an end.
    pub shape: String,
    /// The arrival process as a string.
    pub arrivals: String,
    /// The shortest length of a frame.
    pub frame: Duration,
    /// The round-trip time of the network without jitter. Each way takes half of it.
    pub round_trip: Duration,
    /// The round-trip times of the first nodes, if they differ.
    pub round_trips: Vec<Duration>,
    /// The mean additional time of each way, as a share of its time. It is distributed exponentially, and is at most
    /// eight times the mean.
    pub jitter: f64,
    /// The probability that a message, which is a request or an answer, is lost.
    pub loss: f64,
    /// The probability that a request arrives a second time, up to 100 ms later.
    pub again: f64,
    /// The largest deviation of the rates of machines' clocks, in parts per million.
    pub drift_ppm: f64,
    /// The time that the store takes for a request without frames.
    pub per_request: Duration,
    /// The additional time that the store takes for each frame in a request.
    pub per_frame: Duration,
    /// The maximum time for which a node continues without the store.
    pub blind: Duration,
    /// The faults, each with its time relative to the beginning of the load.
    pub faults: Vec<(Duration, Fault)>,
}

/// A fault. Nodes are numbered from 0 in the order in which they were created.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Ends a node without a trace.
    Kill(usize),
    /// Stalls a node, including its callers.
    Freeze(usize, Duration),
    /// Suspends the machine of a node, which also stops its clock.
    Suspend(usize, Duration),
    /// Makes a node leave.
    Leave(usize),
    /// Drops all messages of a node, and all messages of the store to the node.
    CutOff(usize, Duration),
    /// Sets the round-trip time of a node.
    Link(usize, Duration),
    /// Makes the requests of a node take longer than its answers by this time.
    OneWay(usize, Duration),
    /// Lets another node join.
    Join,
    /// Stalls the store, which answers all requests afterwards.
    FreezeStore(Duration),
    /// Sets the store's clock forward by this many microseconds.
    SetClock(i64),
    /// Makes the store lose all its data.
    Lose,
    /// Replaces the load by this shape, some frames later, as `Control::set_shape` does.
    Change(String),
}

impl Fault {
    pub(super) fn lasts(&self) -> Duration {
        match *self {
            Fault::Freeze(_, time)
            | Fault::Suspend(_, time)
            | Fault::CutOff(_, time)
            | Fault::FreezeStore(time) => time,
            _ => Duration::ZERO,
        }
    }
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            seed: 1,
            nodes: 4,
            shape: "hold 10k/s 3s".to_owned(),
            arrivals: "even".to_owned(),
            frame: FRAME,
            round_trip: Duration::from_micros(200),
            round_trips: Vec::new(),
            jitter: 0.1,
            loss: 0.0,
            again: 0.0,
            drift_ppm: 50.0,
            per_request: Duration::from_micros(25),
            per_frame: Duration::from_micros(8),
            blind: Duration::from_secs(10),
            faults: Vec::new(),
        }
    }
}
