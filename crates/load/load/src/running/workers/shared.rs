//! State that the threads of a run share.

use super::span::RunSpan;
use super::thread_cpu::LoadThreads;
use crate::running::measuring::recorder::Recorder;
use nanopace::Pacer;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{SetOnce, watch};

/// Shared by all load threads and the controller.
#[derive(Debug)]
pub(crate) struct RunShared {
    /// Grants the slots.
    pub(crate) pacer: Pacer,
    /// The longest time for a call.
    pub(crate) timeout: Duration,
    /// Whether a policy of the pacer may give slots up.
    pub(crate) gives_up: bool,
    /// How many sessions there are.
    pub(crate) sessions: u32,
    /// One recorder for each thread.
    pub(crate) recorders: Vec<Arc<Recorder>>,
    /// How many load threads are ready for the schedule.
    pub(crate) ready: watch::Sender<usize>,
    /// Set when the schedule starts.
    pub(crate) span: SetOnce<RunSpan>,
    /// Set when the schedule ends.
    pub(crate) ended: SetOnce<()>,
    /// True when answers that are still missing are given up.
    pub(crate) give_up: watch::Sender<bool>,
    /// The load threads, as the system knows them.
    pub(crate) threads: LoadThreads,
}

impl RunShared {
    /// The shared state of threads paced by `pacer`, one for each number of `connections`. The schedule has not started
    /// yet. `gives_up`: whether a policy of the pacer may give slots up.
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
