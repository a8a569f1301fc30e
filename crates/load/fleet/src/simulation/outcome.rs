//! The results of a simulation.

use std::time::Duration;

/// The results of a simulated run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// How long a frame was.
    pub frame: Duration,
    /// How many tracks there were.
    pub tracks: u32,
    /// Slots of the load.
    pub expected: u64,
    /// Slots that were started, also those started again.
    pub fired: u64,
    /// Slots that were never started.
    pub lost: u64,
    /// Starts of slots that had been started.
    pub twice: u64,
    /// The account of the run: fired, lost and twice.
    pub account: (u64, i64, u64),
    /// The account if silent nodes had started all that they may have.
    pub account_at_most: (u64, i64, u64),
    /// Whether all nodes have given their results.
    pub is_told: bool,
    /// Whether the account closes.
    pub closes: bool,
    /// By how much the clocks of nodes were set to follow the store's, at most.
    pub stepped: Duration,
    /// Frames that nodes ran without knowing the owners.
    pub blind_frames: u64,
    /// Nodes that were there at the end and had given up.
    pub gave_up: usize,
    /// Requests per second at the store.
    pub requests_per_second: f64,
    /// The part of the time in which the store worked.
    pub utilisation: f64,
    /// How long a request waited at the store on average.
    pub wait: Duration,
    /// The standard deviation of starts, because clocks are not exact.
    pub start_error: Duration,
    /// How far a start was off at most.
    pub most_start_error: Duration,
    /// The largest part of the load that one node carried at a moment, to its fair share.
    pub largest_share: f64,
    /// The end of the last frame with a lost slot, counted from when the load began.
    pub last_lost: Option<Duration>,
    /// The most frames in one request.
    pub most_asked: usize,
    /// How many rows of frames a node remembers at the end, at most.
    pub rows: usize,
    /// Frames whose owners the store has counted and forgotten.
    pub counted: u64,
    /// The size of the store's data at the end, in bytes.
    pub store_bytes: usize,
    /// The nodes that were killed.
    pub killed: usize,
    /// The nodes that were there at the end.
    pub alive: usize,
}
