//! A worker: takes a slot, sends a request, notes how it went, until there are no more slots.

use crate::client::{Client, Failure};
use crate::cpu::{Demand, Meter};
use crate::recorder::Recorder;
use crate::run::Stage;
use crate::span::{Admission, Span};
use crate::tally::Operation;
use core_affinity::CoreId;
use nanopace::{Grant, Lane, Nanos};
use std::time::Duration;

/// One worker's own things.
#[derive(Debug)]
pub(crate) struct Worker<'run> {
    /// What it shares with the others.
    pub(crate) stage: &'run Stage,
    /// Its notes.
    pub(crate) recorder: &'run Recorder,
    /// Its connection.
    pub(crate) client: Client,
    /// The core it is pinned to, if any.
    pub(crate) core: Option<CoreId>,
    /// The time it was inside requests.
    pub(crate) busy: Duration,
}

impl Worker<'_> {
    /// Works from the schedule's start until the run is over; returns what the thread wanted of the
    /// CPU.
    pub(crate) fn run(mut self) -> Option<Demand> {
        if let Some(core) = self.core {
            // A refusal leaves the worker where the scheduler puts it: less even perhaps, not
            // wrong.
            core_affinity::set_for_current(core);
        }
        let lane = self.stage.pacer.lane();
        let span = self.stage.span.wait();
        let meter = Meter::start();
        self.work(lane, span);
        meter.stop(self.busy)
    }

    fn work(&mut self, mut lane: Lane, span: &Span) {
        let mut worker_free = self.stage.pacer.now();
        while let Ok(grant) = lane.acquire() {
            match span.admit(&grant) {
                Admission::Recorded => worker_free = self.recorded_request(grant, worker_free),
                Admission::WarmUp => worker_free = self.warm_up_request(),
                Admission::Over => break,
            }
        }
    }

    /// Returns when the request was done.
    fn recorded_request(&mut self, grant: Grant, worker_free: Nanos) -> Nanos {
        // Stamped here and not in `acquire`: wait time is all there is between the intended start
        // and the request.
        let start = self.recorder.start();
        let (outcome, end) = self.request(start);
        let intended_start = grant.intended_start();
        self.recorder.finish(&Operation { intended_start, worker_free, start, end, outcome });
        end
    }

    fn warm_up_request(&mut self) -> Nanos {
        // Its failure is not counted either; if it lasts, the recorded requests show it.
        self.request(self.stage.pacer.now()).1
    }

    /// How the request went, and when it was done.
    fn request(&mut self, start: Nanos) -> (Result<(), Failure>, Nanos) {
        self.stage.crew.enter(start);
        let outcome = self.client.get();
        let end = self.stage.pacer.now();
        self.stage.crew.leave(end);
        self.busy += end - start;
        (outcome, end)
    }
}
