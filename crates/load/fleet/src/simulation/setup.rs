//! Defines the setup of a simulation.

use crate::frames::FRAME;
use std::time::Duration;

/// The setup of a simulated run: its load, its nodes, the network, the store, and the faults during the run.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) seed: u64,
    /// The number of nodes at the beginning of the run.
    pub(super) nodes: u32,
    /// The load as a string. It must end.
    pub(super) shape: String,
    pub(super) arrivals: String,
    /// The shortest length of a frame, as for [`Fleet::frame`](crate::Fleet::frame).
    pub(super) frame: Duration,
    /// The time of a round trip between a node and the store without jitter. The request and the response each take
    /// half of it.
    pub(super) round_trip: Duration,
    /// The round-trip times of the first nodes, which replace `round_trip` for these nodes.
    pub(super) round_trips: Vec<Duration>,
    /// The mean additional time of a request or a response, as a fraction of its time without jitter. The additional
    /// time is distributed exponentially, and is at most eight times the mean.
    pub(super) jitter: f64,
    /// The probability that a request or a response is lost.
    pub(super) loss: f64,
    /// The probability that a request arrives twice. The second copy arrives up to 100 ms after the first one.
    pub(super) again: f64,
    /// The largest difference between the rate of a machine's clock and the true rate, in parts per million.
    pub(super) drift_ppm: f64,
    /// The time that the store takes to handle a request without frames.
    pub(super) per_request: Duration,
    /// The additional time that the store takes for each frame in a request.
    pub(super) per_frame: Duration,
    /// The time for which a node continues without the store.
    pub(super) blind: Duration,
    /// The faults, each with the time at which it happens, measured from the beginning of the load.
    pub(super) faults: Vec<(Duration, Fault)>,
}

/// A fault. The first argument of most faults is a node, numbered from 0 in the order in which nodes were created.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Ends a node without any message to the store.
    Kill(usize),
    /// Stalls a node and its callers for this time.
    Freeze(usize, Duration),
    /// Suspends the machine of a node for this time, during which its clock does not advance.
    Suspend(usize, Duration),
    Leave(usize),
    /// Drops all messages between a node and the store for this time.
    CutOff(usize, Duration),
    /// Sets the round-trip time of a node to this value.
    Link(usize, Duration),
    /// Makes each request of a node take longer by this time. The responses take as long as before.
    OneWay(usize, Duration),
    Join,
    /// Stalls the store for this time. It handles the waiting requests afterwards.
    FreezeStore(Duration),
    /// Sets the store's clock forward by this number of microseconds, or back if the number is negative.
    SetClock(i64),
    /// Makes the store lose all its data.
    Lose,
    /// Replaces the load with this shape, as `Control::set_shape` does. The new load begins some frames later.
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
