//! Defines the state that the threads of a run share.

use super::span::RunSpan;
use super::thread_cpu::LoadThreads;
use crate::running::measuring::recorder::Recorder;
use nanopace::Pacer;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{SetOnce, watch};

/// The state that all load threads and the controller share.
#[derive(Debug)]
pub(crate) struct RunShared {
    /// The pacer that grants the slots.
    pub(crate) pacer: Pacer,
    /// The timeout of a call.
    pub(crate) timeout: Duration,
    /// Whether the late policy may give up slots.
    pub(crate) gives_up: bool,
    /// The number of sessions.
    pub(crate) sessions: u32,
    /// One recorder for each thread.
    pub(crate) recorders: Vec<Arc<Recorder>>,
    /// The number of load threads that are ready for the schedule.
    pub(crate) ready: watch::Sender<usize>,
    /// Set when the schedule starts.
    pub(crate) span: SetOnce<RunSpan>,
    /// Set when the schedule ends.
    pub(crate) ended: SetOnce<()>,
    /// True when the responses that are still missing are given up.
    pub(crate) give_up: watch::Sender<bool>,
    /// The load threads with their thread IDs, for reading their CPU times.
    pub(crate) threads: LoadThreads,
}

impl RunShared {
    /// Creates the state of threads paced by `pacer`, with one thread for each number in `connections`, before the
    /// schedule starts. `gives_up` states whether the late policy may give up slots.
    pub(crate) fn new(
        pacer: Pacer,
        timeout: Duration,
        connections: &[usize],
        gives_up: bool,
    ) -> RunShared {
        RunShared {
            recorders: Recorder::all(&pacer, connections, gives_up),
            timeout,
            gives_up,
            sessions: connections.iter().sum::<usize>().try_into().unwrap_or(u32::MAX),
            ready: watch::Sender::new(0),
            span: SetOnce::new(),
            ended: SetOnce::new(),
            give_up: watch::Sender::new(false),
            threads: LoadThreads::default(),
            pacer,
        }
    }
}
