//! Simulates a node, with its pacer and its machine's clock.

use super::pacer::Pacer;
use super::tally::Tally;
use crate::clock::{Leader, RunClock, Sample, Samples};
use crate::core::Core;
use crate::driver::{LEAVES_IN, take_in};
use crate::load::Load;
use crate::message::{Answer, FleetRun, Request, State};
use crate::progress::Progress;
use crate::round_trips::RoundTrips;
use crate::store_outage::{StoreOutage, WhenBlind};
use crate::track_ownership::NodeId;
use nanopace::{ManualClock, Nanos};
use std::mem;
use std::time::Duration;

/// A node that does not take part yet waits for a response for at most this time.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) enum Phase {
    /// Before it joins, the node measures the round-trip time to the store, and the store's time.
    Entering(Samples),
    Looking {
        node: NodeId,
        samples: Samples,
    },
    Running(Box<Core>),
    Gone,
}

#[derive(Debug)]
pub(super) struct Machine {
    base: ManualClock,
    drift: f64,
    stood: Duration,
    pub(super) clock: RunClock<ManualClock>,
    leader: Option<Leader>,
    pub(super) phase: Phase,
    pacer: Pacer,
    pub(super) request: Option<Request>,
    pub(super) ticket: u64,
    sent_ns: u64,
    pub(super) is_connected: bool,
    pub(super) frozen_until: u64,
    pub(super) cut_off_until: u64,
    pub(super) trip: Duration,
    /// The additional time that each request of the node takes on its way to the store, in nanoseconds.
    pub(super) one_way_ns: u64,
    pub(super) turns: u64,
    late_since: Option<u64>,
    /// The time of the run until which the node makes requests before it leaves.
    asks_until: Option<u64>,
    /// The last reading of the run's clock: the true time at which it was read, and the time that it showed.
    before: Option<(u64, u64)>,
}

impl Machine {
    pub(super) fn new(drift: f64, trip: Duration) -> Machine {
        let base = ManualClock::new();
        Machine {
            clock: RunClock::over(base.clone()),
            base,
            drift,
            stood: Duration::ZERO,
            leader: None,
            phase: Phase::Entering(Samples::default()),
            pacer: Pacer::default(),
            request: None,
            ticket: 0,
            sent_ns: 0,
            is_connected: true,
            frozen_until: 0,
            cut_off_until: 0,
            trip,
            one_way_ns: 0,
            turns: 0,
            late_since: None,
            asks_until: None,
            before: None,
        }
    }

    /// Sets the machine's clock to the time that it shows at the true time `at_ns`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "some hours in nanoseconds"
    )]
    pub(super) fn set(&self, at_ns: u64) {
        let base_ns = (at_ns as f64 - self.stood.as_secs_f64() * 1e9) * (1.0 + self.drift);
        self.base.set(Nanos::from_nanos(base_ns as u64));
    }

    pub(super) fn sends(&mut self, request: &Request) {
        self.request = Some(request.clone());
        self.ticket += 1;
        self.sent_ns = self.clock.base_ns();
        let now = self.clock.now_ns();
        if let Phase::Running(core) = &mut self.phase {
            core.sent(now);
        }
    }

    pub(super) fn patience(&self) -> Duration {
        match &self.phase {
            Phase::Running(core) => core.patience(),
            _ => PATIENCE,
        }
    }

    fn sample(&self, store_us: i64) -> Sample {
        Sample { sent_ns: self.sent_ns, received_ns: self.clock.base_ns(), store_us }
    }

    pub(super) fn sampled(&mut self, store_us: i64) {
        let sample = self.sample(store_us);
        if let Phase::Entering(samples) = &mut self.phase {
            samples.add(sample);
        }
    }

    pub(super) fn joined(&mut self, node: NodeId, store_us: i64) {
        self.sampled(store_us);
        if let Phase::Entering(samples) = &mut self.phase {
            self.phase = Phase::Looking { node, samples: mem::take(samples) };
        }
    }

    pub(super) fn observe_run(&mut self, run: &FleetRun, store_us: i64, blind: Duration) {
        let sample = self.sample(store_us);
        let Phase::Looking { node, samples } = &mut self.phase else { return };
        samples.add(sample);
        if run.state != State::Running {
            return;
        }
        let (node, sample) = (*node, samples.best());
        self.leader = Some(Leader::new(&self.clock, &sample, run.origin_us));
        let blind = StoreOutage::new(blind, WhenBlind::Hold);
        let trips = RoundTrips::new(sample.round_trip_ns());
        let core = Core::new(node, run.clone(), (blind, trips), self.clock.now_ns());
        self.phase = Phase::Running(Box::new(core.expect("the run's load can be read")));
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure")]
    pub(super) fn advance(
        &mut self,
        at_ns: u64,
        origin_ns: u64,
        load: &mut Load,
        tally: &mut Tally,
    ) {
        let Phase::Running(core) = &self.phase else { return };
        let frames = core.run().frames;
        let now = self.clock.now_ns();
        if let Some((before_ns, before)) = self.before.replace((at_ns, now))
            && self.late_since.is_none()
            && now > before
        {
            let pace = (at_ns - before_ns) as f64 / (now - before) as f64;
            for frame in frames.at(before) + 1..=frames.at(now) {
                let begins = frames.begins(frame);
                if self.pacer.has(frame) && begins > before {
                    let started = before_ns as f64 + (begins - before) as f64 * pace;
                    tally.begun(started - (origin_ns + begins) as f64);
                }
            }
        }
        self.pacer.advance(now, frames.at(now), load, tally);
    }

    pub(super) fn turn(&mut self) -> Option<Request> {
        let progress = self.progress()?;
        let now = self.clock.now_ns();
        let Phase::Running(core) = &mut self.phase else { return None };
        core.decide(now);
        let is_lagging = progress.late_ns > core.run().frames.frame_ns;
        self.late_since = None;
        if self.asks_until.is_some() {
            return self.leave(now, is_lagging, &progress.text());
        }
        core.request(now, is_lagging, &progress.text())
    }

    pub(super) fn leaves(&mut self) {
        let ends_in = u64::try_from(LEAVES_IN.as_nanos()).unwrap_or(u64::MAX);
        self.asks_until = Some(self.clock.now_ns() + ends_in);
    }

    fn leave(&mut self, now: u64, is_lagging: bool, progress: &str) -> Option<Request> {
        self.tell();
        let Phase::Running(core) = &mut self.phase else { return None };
        if core.is_waiting() {
            return None;
        }
        let asks = self.asks_until.is_some_and(|until| now < until);
        if asks && core.must_wait(now) {
            return None;
        }
        if asks && let Some(request) = core.request_before_it_leaves(now, is_lagging, progress) {
            return Some(request);
        }
        let last = core.last_update(now);
        if !self.pacer.lease(last.frame, Vec::new()) && !last.may_begin_later {
            return None;
        }
        self.asks_until = None;
        Some(core.leave(&last))
    }

    pub(super) fn last_request(&mut self, has_heard: bool) -> Option<Request> {
        let progress = self.progress()?.text();
        let Phase::Running(core) = &mut self.phase else { return None };
        Some(core.last_request(has_heard, progress, &[]))
    }

    pub(super) fn progress(&mut self) -> Option<Progress> {
        let now = self.clock.now_ns();
        let Phase::Running(core) = &mut self.phase else { return None };
        Some(Progress {
            started: self.pacer.started().min(core.due_slots(now)),
            late_ns: now - self.late_since.unwrap_or(now),
            stepped_ns: self.leader.as_ref().map_or(0, Leader::stepped_ns),
            ..core.progress(now)
        })
    }

    pub(super) fn answered(&mut self, answer: Answer, store_us: i64) {
        let sample = self.sample(store_us);
        let (Phase::Running(core), Some(leader), Some(request)) =
            (&mut self.phase, &mut self.leader, self.request.take())
        else {
            return;
        };
        take_in(core, leader, &self.clock, &request, answer, sample).expect("versions can be read");
        if let Some(cut) = core.take_cut() {
            core.gave_up_whole_frames(cut);
        }
    }

    pub(super) fn failed(&mut self) {
        self.is_connected = false;
        let now = self.clock.now_ns();
        self.asks_until = self.asks_until.map(|_| now);
        if let Phase::Running(core) = &mut self.phase {
            core.hears_no_answer(now);
        }
    }

    pub(super) fn tell(&mut self) -> u64 {
        let now = self.clock.now_ns();
        let Phase::Running(core) = &mut self.phase else { return u64::MAX };
        while let Some(update) = core.update() {
            let is_taken =
                self.pacer.lease(update.frame, core.known(&update)) || update.may_begin_later;
            core.told(&update, is_taken);
        }
        let is_next = self.asks_until.is_some() && !core.is_waiting() && !core.must_wait(now);
        if is_next { 0 } else { core.due(now).saturating_sub(now) }
    }

    /// Stalls the node until `until_ns`. Call this after the node has started the slots that are due.
    pub(super) fn freeze(&mut self, until_ns: u64) {
        self.frozen_until = until_ns;
        self.late_since = Some(self.clock.now_ns());
    }

    /// Suspends the machine until `until_ns`, and stops its clock for `time`. Call this after the node has started the
    /// slots that are due.
    pub(super) fn suspend(&mut self, until_ns: u64, time: Duration) {
        self.frozen_until = until_ns;
        self.stood += time;
    }

    /// Kills the node. Call this after the node has started the slots that are due.
    pub(super) fn kill(&mut self, load: &mut Load, tally: &mut Tally) {
        if let Phase::Running(core) = &self.phase {
            let now = self.clock.now_ns();
            self.pacer.kill(now, core.run().frames.at(now), load, tally);
        }
        self.phase = Phase::Gone;
    }
}
