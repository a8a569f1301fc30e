//! The setup of a simulation.

use crate::frames::FRAME;
use std::time::Duration;

/// A run, and the faults during it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// All that is random follows from it.
    pub seed: u64,
    /// How many nodes there are at the beginning.
    pub nodes: u32,
    /// The load, as text; it has to end.
    pub shape: String,
    /// How its slots arrive, as text.
    pub arrivals: String,
    /// How long a frame is at least.
    pub frame: Duration,
    /// The round trip of an empty network: half of it each way.
    pub round_trip: Duration,
    /// The round trips of the first nodes, if they are others.
    pub round_trips: Vec<Duration>,
    /// Each way takes longer by a random part of this on average, exponentially distributed; at most
    /// eight times as much.
    pub jitter: f64,
    /// The probability that a message is lost, request or answer.
    pub loss: f64,
    /// The probability that a request arrives a second time, up to 100 ms later.
    pub again: f64,
    /// By up to how many millionths clocks of machines run faster or slower.
    pub drift_ppm: f64,
    /// How long the store works for a request without frames.
    pub per_request: Duration,
    /// How much longer it works for each frame in a request.
    pub per_frame: Duration,
    /// How long a node goes on without the store.
    pub blind: Duration,
    /// The faults, and when they happen, counted from the beginning of the load.
    pub faults: Vec<(Duration, Fault)>,
}

/// Something that happens. Nodes are counted from 0 on, as they have been made.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A node is gone.
    Kill(usize),
    /// A node stalls, with its callers.
    Freeze(usize, Duration),
    /// A node's machine is suspended: its clock stops too.
    Suspend(usize, Duration),
    /// A node leaves.
    Leave(usize),
    /// No message of a node arrives, and none of the store's at it.
    CutOff(usize, Duration),
    /// The round trip of a node is this from now on.
    Link(usize, Duration),
    /// From now on, a node's requests take longer than its answers by this time.
    OneWay(usize, Duration),
    /// A node joins.
    Join,
    /// The store answers nothing, and answers all requests afterwards.
    FreezeStore(Duration),
    /// The store's clock is set by this many microseconds.
    SetClock(i64),
    /// The store loses all that it has.
    Lose,
    /// The load has this shape from some frames later on, as `Control::set_shape` does it.
    Change(String),
}

impl Fault {
    /// For how long something does not answer.
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
