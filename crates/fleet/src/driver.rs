//! The thread of a node: asks the store, and gives the pacer what the node has.

use crate::clock::{Leader, RunClock, Sample};
use crate::core::{Change, Core};
use crate::error::FleetError;
use crate::message::{Answer, Request};
use crate::node::{Command, Shared};
use crate::progress::Progress;
use crate::store::Store;
use nanopace::{Clock, Pacer};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// It looks around at least this often.
const TURN_NS: u64 = 20_000_000;

pub(crate) struct Driver<S> {
    pub(crate) core: Core,
    pub(crate) store: S,
    pub(crate) clock: RunClock,
    pub(crate) leader: Leader,
    pub(crate) pacer: Pacer,
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: Receiver<Command>,
    /// Slots that were granted and not started.
    pub(crate) not_started: u64,
    /// A request to a store that does not answer takes so long.
    pub(crate) patience_ns: u64,
}

impl<S: Store> Driver<S> {
    /// Until the node is told to end.
    pub(crate) fn run(mut self) {
        loop {
            self.turn();
            let now = self.clock.now_ns();
            let wait = self.core.due(now).saturating_sub(now).min(TURN_NS);
            match self.commands.recv_timeout(Duration::from_nanos(wait)) {
                Ok(Command::Leave(reply)) => {
                    let _ = reply.send(self.leave());
                }
                Ok(Command::NotStarted(slots, reply)) => {
                    self.not_started += slots;
                    let _ = reply.send(Ok(()));
                }
                Ok(Command::Finish(results, reply)) => {
                    let _ = reply.send(self.finish(&results));
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The last word of a node that was dropped.
                    let progress = self.progress(self.clock.now_ns()).text();
                    let sign = self.core.sign(&progress);
                    let _ = self.exchange(&sign);
                    return;
                }
            }
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now_ns();
        self.core.settle(now, self.patience_ns);
        self.tell();
        let progress = self.progress(now);
        let is_late = progress.late_ns > self.core.run().frames.frame_ns;
        if let Some(request) = self.core.request(now, is_late, &progress.text()) {
            let _ = self.exchange(&request);
        }
        self.tell();
        if self.core.over().is_some() {
            self.pacer.close();
        }
        self.shared.set(&self.core, &progress);
    }

    /// One round trip, and what follows from its answer. Whether this node is the last that is done.
    fn exchange(&mut self, request: &Request) -> Result<bool, FleetError> {
        let sent_ns = self.clock.base_ns();
        let reply = self.store.call(request);
        let received_ns = self.clock.base_ns();
        let now = self.clock.now_ns();
        let reply = reply.inspect_err(|_| self.core.failed(now))?;
        let sample = Sample { sent_ns, received_ns, store_us: reply.now_us };
        let is_last = matches!(reply.answer, Answer::Finished { is_last: true });
        take_in(&mut self.core, &mut self.leader, &self.clock, request, reply.answer, sample)?;
        if let Some(cut) = self.core.cut() {
            let slot = self.pacer.lease_rest(cut.slot, &[]);
            self.core.came_to(cut, slot);
            self.pacer.correct_shape(self.core.load().followed()?);
        }
        Ok(is_last)
    }

    /// Gives the pacer what is known. What it can't take any more, because later slots may have
    /// started, is lost.
    fn tell(&mut self) {
        while let Some(change) = self.core.change() {
            let is_taken = self.is_taken(&change);
            self.core.told(&change, is_taken);
        }
    }

    fn is_taken(&self, change: &Change) -> bool {
        if change.is_rest {
            let _ = self.pacer.lease_rest(change.slot, &change.leases);
            return true;
        }
        self.pacer.lease(change.slot, &change.leases).is_ok()
    }

    fn progress(&mut self, now: u64) -> Progress {
        let ledger = self.pacer.ledger();
        let due = self.core.due_slots(now).saturating_sub(ledger.skipped);
        let oldest = self.pacer.next_due().map_or(now, |due| due.as_nanos().min(now));
        Progress {
            // Slots that callers hold and that are not due have not started.
            fired: ledger.granted.min(due).saturating_sub(self.not_started),
            shed: ledger.skipped,
            twice: self.core.twice(),
            late_ns: now - oldest,
            blind_ns: self.core.blind_since().map_or(0, |since| now.saturating_sub(since)),
        }
    }

    /// Gives back what has not begun, and takes what nobody else will before that.
    fn leave(&mut self) -> Result<(), FleetError> {
        let now = self.clock.now_ns();
        let progress = self.progress(now).text();
        if let Some(claim) = self.core.last_claim(now, &progress) {
            let _ = self.exchange(&claim);
            self.tell();
        }
        let last = loop {
            let last = self.core.last_change(self.clock.now_ns());
            // Otherwise the frame has begun just now.
            if self.is_taken(&last) {
                break last;
            }
        };
        let request = self.core.leave(&last);
        self.retried(&request).map(drop)
    }

    /// Tells the store what became of its slots, and the user's results. A store that has lost the
    /// run is filled again first.
    fn finish(&mut self, results: &[u8]) -> Result<bool, FleetError> {
        self.core.stop_claiming(self.clock.now_ns());
        let (mut tries, mut has_heard) = (0, false);
        loop {
            let request = self.last_request(results, has_heard);
            let is_finish = matches!(request, Request::Finish { .. });
            match self.exchange(&request) {
                Err(error) if tries == TRIES => return Err(error),
                Err(_) => {
                    tries += 1;
                    std::thread::sleep(RETRY);
                }
                Ok(_) if matches!(self.core.over(), Some(FleetError::Replaced)) => {
                    return Err(FleetError::Replaced);
                }
                Ok(is_last) if is_finish && self.core.is_marked() => return Ok(is_last),
                Ok(_) => has_heard = true,
            }
        }
    }

    /// What is left to be told. First the store says whether it has forgotten something.
    fn last_request(&mut self, results: &[u8], has_heard: bool) -> Request {
        let progress = self.progress(self.clock.now_ns());
        // Nobody holds slots any more.
        let fired = self.pacer.ledger().granted.saturating_sub(self.not_started);
        let progress = Progress { fired, ..progress }.text();
        if !has_heard {
            return self.core.sign(&progress);
        }
        let (id, node) = (self.core.run().id.clone(), self.core.node());
        let finish = Request::Finish { id, node, progress, results: results.to_vec() };
        self.core.repair().unwrap_or(finish)
    }

    fn retried(&mut self, request: &Request) -> Result<Answer, FleetError> {
        let mut tries = 1;
        loop {
            match self.store.call(request).map(|reply| reply.answer) {
                Ok(Answer::Gone | Answer::Other) => return Err(FleetError::Replaced),
                Ok(answer) => return Ok(answer),
                Err(error) if tries == TRIES => return Err(error),
                Err(_) => tries += 1,
            }
            std::thread::sleep(RETRY);
        }
    }
}

/// What follows from an answer for a node and its clock.
pub(crate) fn take_in<C: Clock>(
    core: &mut Core,
    leader: &mut Leader,
    clock: &RunClock<C>,
    request: &Request,
    answer: Answer,
    sample: Sample,
) -> Result<(), FleetError> {
    let now = clock.now_ns();
    let frame_ns = core.run().frames.frame_ns;
    match answer {
        // By its clock, no frame or the wrong ones are open.
        Answer::Claimed(claimed) if sample.is_off(clock, claimed.origin_us, frame_ns) => {
            core.refused(&claimed, now);
        }
        answer => core.answered(request, answer, now)?,
    }
    let origin_us = core.run().origin_us;
    if let Some(step_us) = leader.take(clock, sample, origin_us, frame_ns) {
        core.step(step_us);
    }
    Ok(())
}

/// What ends a node is tried so often, this far apart: for some seconds in all.
const TRIES: u32 = 60;
const RETRY: Duration = Duration::from_millis(50);
