//! Defines the results of a simulation.

use std::time::Duration;

/// The results of a simulated run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The length of a frame of the run.
    pub frame: Duration,
    /// The number of tracks of each frame.
    pub tracks: u32,
    /// The number of slots of the load.
    pub expected: u64,
    /// The number of slots that were started, counting slots that were started again.
    pub fired: u64,
    /// The number of slots that were never started.
    pub lost: u64,
    /// The number of times that a slot was started again.
    pub twice: u64,
    /// The account of the run: the numbers of slots that were fired, lost, and started twice.
    pub account: (u64, i64, u64),
    /// The account if silent nodes have started as many slots as they may have.
    pub account_at_most: (u64, i64, u64),
    /// Whether all nodes have reported their results.
    pub is_told: bool,
    /// Whether the account [closes](crate::Account::closes): the slots of its columns add up to the load.
    pub closes: bool,
    /// The longest time by which the clock of a node was set to follow the store's clock.
    pub stepped: Duration,
    /// The number of frames that nodes ran without knowing the owners.
    pub blind_frames: u64,
    /// The number of nodes that had given up by the end.
    pub gave_up: usize,
    /// The number of requests per second at the store.
    pub requests_per_second: f64,
    /// The share of the time for which the store was busy.
    pub utilisation: f64,
    /// The mean time for which a request waited at the store.
    pub wait: Duration,
    /// The standard deviation of the errors of starts, which inexact clocks cause.
    pub start_error: Duration,
    /// The largest error of a start.
    pub most_start_error: Duration,
    /// The largest share of the load that one node carried at a moment, relative to its fair share.
    pub largest_share: f64,
    /// The end of the last frame with a lost slot, relative to the beginning of the load.
    pub last_lost: Option<Duration>,
    /// The largest number of frames in one request.
    pub most_asked: usize,
    /// The largest number of rows of frames that a node stores at the end.
    pub rows: usize,
    /// The number of frames whose owners the store has counted and forgotten.
    pub counted: u64,
    /// The size of the store's data at the end, in bytes.
    pub store_bytes: usize,
    /// The number of nodes that were killed.
    pub killed: usize,
    /// The number of nodes that were present at the end.
    pub alive: usize,
}
