//! Defines the results of a simulation.

use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) frame: Duration,
    pub(super) tracks: u32,
    /// The number of slots of the load.
    pub(super) expected: u64,
    /// The number of starts. A slot that was started by several nodes counts several times.
    pub(super) started: u64,
    /// The number of slots that were never started.
    pub(super) lost: u64,
    /// The number of starts of slots that had already been started.
    pub(super) twice: u64,
    /// The numbers of slots that were started, lost, and started twice, according to the run's account.
    pub(super) account: (u64, i64, u64),
    /// The bounds of the account if silent nodes have started as many slots as possible: the largest number started, the
    /// smallest number lost, and the largest number started twice.
    pub(super) account_at_most: (u64, i64, u64),
    /// The value of [`Account::is_told`](crate::Account::is_told) in the run's account.
    pub(super) is_told: bool,
    pub(super) closes: bool,
    /// The largest [`NodeAccount::stepped`](crate::NodeAccount::stepped) of all nodes.
    pub(super) stepped: Duration,
    /// The number of frames that nodes ran without knowing the owners of their tracks.
    pub(super) blind_frames: u64,
    /// The number of nodes that had failed by the end of the simulation.
    pub(super) gave_up: usize,
    /// The mean number of requests that the store handled per second.
    pub(super) requests_per_second: f64,
    /// The fraction of the run during which the store was busy.
    pub(super) utilisation: f64,
    /// The mean time that a request waited before the store handled it.
    pub(super) wait: Duration,
    /// The standard deviation of the differences between actual and intended starts. Inexact clocks cause these
    /// differences.
    pub(super) start_error: Duration,
    /// The largest difference between an actual and an intended start.
    pub(super) most_start_error: Duration,
    /// The largest share of a frame's tracks that any one node started, divided by a node's fair share.
    pub(super) largest_share: f64,
    /// The end of the last frame with a lost slot, measured from the beginning of the load. `None` if no slot was lost.
    pub(super) last_lost: Option<Duration>,
    /// The largest number of frames in one request to the store.
    pub(super) most_asked: usize,
    /// The largest number of entries for past frames that a node stores at the end.
    pub(super) rows: usize,
    /// The number of frames whose owners the store has counted and forgotten.
    pub(super) counted: u64,
    /// The size of the store's data at the end of the simulation, in bytes.
    pub(super) store_bytes: usize,
    pub(super) killed: usize,
    /// The number of nodes that have taken part and were not killed.
    pub(super) alive: usize,
}
