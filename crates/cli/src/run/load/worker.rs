//! A worker: takes a slot, sends a request and records it, until there are no more slots.

use super::client::Client;
use super::cpu::{CpuDemand, CpuMeter};
use super::shared::RunShared;
use super::span::{Admission, RunSpan};
use crate::run::recording::operation::{Failure, Operation};
use crate::run::recording::recorder::Recorder;
use core_affinity::CoreId;
use nanopace::{Grant, Lane, Nanos};
use std::time::Duration;

/// What one worker thread owns.
#[derive(Debug)]
pub(crate) struct Worker<'run> {
    /// What all workers share.
    pub(crate) shared: &'run RunShared,
    /// Its record.
    pub(crate) recorder: &'run Recorder,
    /// Its connection.
    pub(crate) client: Client,
    /// The core it is pinned to, if any.
    pub(crate) core: Option<CoreId>,
    /// How long it was inside requests.
    pub(crate) busy: Duration,
}

impl Worker<'_> {
    /// Works from the schedule's start until the run is over. Returns what the thread needed of the
    /// CPU.
    pub(crate) fn run(mut self) -> Option<CpuDemand> {
        if let Some(core) = self.core {
            // If it cannot be pinned, the worker runs where the scheduler puts it. Its starts may
            // be less even, but they are not wrong.
            core_affinity::set_for_current(core);
        }
        let lane = self.shared.pacer.lane();
        let span = self.shared.span.wait();
        let meter = CpuMeter::start();
        self.work(lane, span);
        meter.stop(self.busy)
    }

    fn work(&mut self, mut lane: Lane, span: &RunSpan) {
        let mut worker_free = self.shared.pacer.now();
        while let Ok(grant) = lane.acquire() {
            match span.admit(&grant) {
                Admission::Recorded => worker_free = self.recorded_request(grant, worker_free),
                Admission::WarmUp => worker_free = self.warm_up_request(),
                Admission::Over => break,
            }
        }
    }

    /// Sends a request that is recorded, and returns when it was done.
    fn recorded_request(&mut self, grant: Grant, worker_free: Nanos) -> Nanos {
        // Stamped here and not in `acquire`: wait time is all the time between the intended start
        // and the request.
        let start = self.recorder.start();
        let (outcome, end) = self.request(start);
        let intended_start = grant.intended_start();
        self.recorder.finish(&Operation { intended_start, worker_free, start, end, outcome });
        end
    }

    fn warm_up_request(&mut self) -> Nanos {
        // A failure is not counted either. If the server stays broken, recorded requests show it.
        self.request(self.shared.pacer.now()).1
    }

    /// Sends a request. Returns how it went, and when it was done.
    fn request(&mut self, start: Nanos) -> (Result<(), Failure>, Nanos) {
        self.shared.utilization.request_starts(start);
        let outcome = self.client.get();
        let end = self.shared.pacer.now();
        self.shared.utilization.request_ends(end);
        self.busy += end - start;
        (outcome, end)
    }
}
