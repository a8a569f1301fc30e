//! What the threads of a run share.

use super::span::RunSpan;
use super::utilization::Utilization;
use crate::run::recording::recorder::Recorder;
use nanopace::Pacer;
use std::sync::OnceLock;

/// Shared by all workers and the controller.
#[derive(Debug)]
pub(crate) struct RunShared {
    /// Grants the slots.
    pub(crate) pacer: Pacer,
    /// Knows whether any worker is free.
    pub(crate) utilization: Utilization,
    /// One recorder for each worker.
    pub(crate) recorders: Vec<Recorder>,
    /// Set when the schedule starts.
    pub(crate) span: OnceLock<RunSpan>,
}

impl RunShared {
    /// What `workers` paced by `pacer` share. The schedule has not started yet.
    pub(crate) fn new(pacer: Pacer, workers: u16) -> RunShared {
        RunShared {
            utilization: Utilization::new(workers),
            recorders: (0..workers).map(|_| Recorder::new(&pacer)).collect(),
            span: OnceLock::new(),
            pacer,
        }
    }
}
