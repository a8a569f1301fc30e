//! Simulates the store's server, which handles one request at a time while other requests wait in a queue.

use super::setup::Setup;
use crate::message::{FleetRun, Reply, Request};
use crate::store::Played;
use std::time::Duration;

const EPOCH_US: i64 = 1_700_000_000_000_000;

#[derive(Debug)]
pub(super) struct SimulatedStore {
    pub(super) store: Played,
    per_request_ns: u64,
    per_frame_ns: u64,
    set_us: i64,
    /// The true time at which the store has handled all requests that it has received so far.
    free_ns: u64,
    pub(super) requests: u64,
    pub(super) most_asked: usize,
    pub(super) worked_ns: u64,
    pub(super) waited_ns: u64,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl SimulatedStore {
    pub(super) fn new(setup: &Setup) -> SimulatedStore {
        SimulatedStore {
            store: Played::new(),
            per_request_ns: nanos(setup.per_request),
            per_frame_ns: nanos(setup.per_frame),
            set_us: 0,
            free_ns: 0,
            requests: 0,
            most_asked: 0,
            worked_ns: 0,
            waited_ns: 0,
        }
    }

    pub(super) fn clock_us(&self, at_ns: u64) -> i64 {
        EPOCH_US + self.set_us + (at_ns / 1_000).cast_signed()
    }

    /// Returns the true time at which the store's clock shows `clock_us`, if the clock is not set again.
    pub(super) fn when_ns(&self, clock_us: i64) -> u64 {
        u64::try_from((clock_us - EPOCH_US - self.set_us) * 1_000).unwrap_or(0)
    }

    pub(super) fn take(&mut self, request: &Request, at_ns: u64) -> (Reply, u64) {
        let begins = at_ns.max(self.free_ns);
        let frames = match request {
            Request::Claim(claim) => claim.asks.len(),
            Request::Mark { portions, .. } | Request::Leave { portions, .. } => portions.len(),
            _ => 0,
        };
        self.most_asked = self.most_asked.max(frames);
        let work = self.per_request_ns + frames as u64 * self.per_frame_ns;
        self.requests += 1;
        self.waited_ns += begins - at_ns;
        self.worked_ns += work;
        self.free_ns = begins + work;
        (self.store.call(request, self.clock_us(begins)), self.free_ns)
    }

    pub(super) fn run(&self, at_ns: u64) -> Option<FleetRun> {
        self.store.run(self.clock_us(at_ns))
    }

    pub(super) fn count_anew(&mut self) {
        (self.requests, self.worked_ns, self.waited_ns) = (0, 0, 0);
    }

    pub(super) fn freeze(&mut self, at_ns: u64, time: Duration) {
        self.free_ns = self.free_ns.max(at_ns + nanos(time));
    }

    pub(super) fn set_clock(&mut self, by_us: i64) {
        self.set_us += by_us;
    }
}
