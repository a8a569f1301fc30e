//! Runs the thread of a node, which sends requests to the store and passes leases to the pacer.

use crate::clock::{Leader, RunClock, Sample};
use crate::core::{Core, Update};
use crate::error::FleetError;
use crate::message::{Answer, Others, Request};
use crate::node::Shared;
use crate::progress::Progress;
use crate::store_threads::{Command, Exchange, StoreThread, ThreadMessage};
use nanopace::driver::Drive as _;
use nanopace::{Clock, Pacer};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const TURN_NS: u64 = 20_000_000;

pub(crate) struct Driver {
    pub(crate) core: Core,
    pub(crate) link: StoreThread,
    pub(crate) clock: RunClock,
    pub(crate) leader: Leader,
    pub(crate) pacer: Pacer,
    pub(crate) shared: Arc<Shared>,
    pub(crate) words: Receiver<ThreadMessage>,
    /// The commands that arrived while the thread waited for a response.
    pub(crate) later: VecDeque<Command>,
    pub(crate) not_started: u64,
}

impl Driver {
    pub(crate) fn run(mut self) {
        loop {
            self.turn();
            let command = match self.later.pop_front() {
                Some(command) => Some(command),
                None => self.listen(),
            };
            match command {
                Some(Command::Leave(reply)) => {
                    let _ = reply.send(self.leave());
                }
                Some(Command::NotStarted(slots, reply)) => {
                    self.not_started += slots;
                    let _ = reply.send(Ok(()));
                }
                Some(Command::Finish(results, reply)) => {
                    let _ = reply.send(self.finish(&results));
                    return;
                }
                Some(Command::Drop) => {
                    // The node was dropped without a call of `finish`. It still reports its slots, which would
                    // otherwise be missing in the account.
                    let _ = self.finish(&[]);
                    return;
                }
                None => {}
            }
        }
    }

    fn listen(&mut self) -> Option<Command> {
        match self.word()? {
            ThreadMessage::Command(command) => Some(command),
            ThreadMessage::Exchange(exchange) => {
                let _ = self.take_in(*exchange);
                None
            }
        }
    }

    fn word(&self) -> Option<ThreadMessage> {
        let now = self.clock.now_ns();
        let wait = self.core.due(now).saturating_sub(now).min(TURN_NS);
        match self.words.recv_timeout(Duration::from_nanos(wait)) {
            Ok(word) => Some(word),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(ThreadMessage::Command(Command::Drop)),
        }
    }

    fn turn(&mut self) {
        if let Some(request) = self.request() {
            self.send(request, self.core.patience());
        }
    }

    fn request(&mut self) -> Option<Request> {
        let (progress, is_lagging) = self.looked();
        self.core.request(self.clock.now_ns(), is_lagging, &progress)
    }

    fn looked(&mut self) -> (String, bool) {
        let progress = self.decide();
        (progress.text(), progress.late_ns > self.core.run().frames.frame_ns)
    }

    fn decide(&mut self) -> Progress {
        let now = self.clock.now_ns();
        self.core.decide(now);
        self.tell();
        if self.core.failure().is_some() {
            self.pacer.close();
        }
        let progress = self.progress(now);
        self.shared.set(&self.core, &progress);
        progress
    }

    fn send(&mut self, request: Request, patience: Duration) {
        self.core.sent(self.clock.now_ns());
        self.link.send(request, patience, self.core.load().shape().duration());
    }

    fn exchange(&mut self, request: &Request) -> Result<Others, FleetError> {
        self.wait();
        self.send(request.clone(), PATIENCE);
        let exchange = self.heard();
        self.take_in(exchange)
    }

    fn wait(&mut self) {
        if self.core.is_waiting() {
            let before = self.heard();
            let _ = self.take_in(before);
        }
    }

    fn heard(&mut self) -> Exchange {
        loop {
            if let Some(exchange) = self.heard_next() {
                return exchange;
            }
        }
    }

    fn heard_next(&mut self) -> Option<Exchange> {
        match self.word() {
            Some(ThreadMessage::Exchange(exchange)) => return Some(*exchange),
            Some(ThreadMessage::Command(command)) => self.later.push_back(command),
            None => drop(self.decide()),
        }
        None
    }

    fn take_in(&mut self, exchange: Exchange) -> Result<Others, FleetError> {
        let Exchange { request, reply, sent_ns, received_ns } = exchange;
        let now = self.clock.now_ns();
        let reply = reply.inspect_err(|_| self.core.hears_no_answer(now))?;
        let sample = Sample { sent_ns, received_ns, store_us: reply.now_us };
        let others = match reply.answer {
            Answer::Finished(others) => others,
            _ => Others::GoOn,
        };
        take_in(&mut self.core, &mut self.leader, &self.clock, &request, reply.answer, sample)?;
        if let Some(cut) = self.core.take_cut() {
            let slot = self.pacer.lease_rest(cut.slot, &[]);
            self.core.gave_up(cut, slot);
            self.pacer.correct_shape(self.core.load().followed()?);
        }
        self.tell();
        Ok(others)
    }

    fn tell(&mut self) {
        while let Some(update) = self.core.update() {
            let is_taken = self.is_taken(&update);
            self.core.told(&update, is_taken);
        }
    }

    fn is_taken(&self, update: &Update) -> bool {
        if update.may_begin_later {
            let _ = self.pacer.lease_rest(update.slot, &update.leases);
            return true;
        }
        self.pacer.lease(update.slot, &update.leases).is_ok()
    }

    fn progress(&mut self, now: u64) -> Progress {
        let ledger = self.pacer.ledger();
        let due = self.core.due_slots(now).saturating_sub(ledger.skipped);
        let oldest = self.pacer.next_due().map_or(now, |due| due.as_nanos().min(now));
        Progress {
            // Callers may have been granted slots that are not due yet, and that they have therefore not started.
            started: ledger.granted.min(due).saturating_sub(self.not_started),
            skipped: ledger.skipped,
            late_ns: now - oldest,
            stepped_ns: self.leader.stepped_ns(),
            ..self.core.progress(now)
        }
    }

    fn leave(&mut self) -> Result<(), FleetError> {
        let ends = Instant::now() + LEAVES_IN;
        let mut is_answered = true;
        let last = loop {
            self.wait();
            let (progress, is_lagging) = self.looked();
            let now = self.clock.now_ns();
            let asks = is_answered && Instant::now() < ends;
            if asks && self.core.must_wait(now) {
                let _ = self.heard_next(); // no request is pending, so this is not a response
                continue;
            }
            if asks
                && let Some(request) =
                    self.core.request_before_it_leaves(now, is_lagging, &progress)
            {
                is_answered = self.exchange(&request).is_ok();
                continue;
            }
            let last = self.core.last_update(now);
            // The pacer rejects the update if it may have started a slot of the frame.
            if self.is_taken(&last) {
                break last;
            }
        };
        let request = self.core.leave(&last);
        self.retried(&request)
    }

    /// Returns whether this node is the last one to finish.
    fn finish(&mut self, results: &[u8]) -> Result<bool, FleetError> {
        self.core.stop_claiming(self.clock.now_ns());
        let others = self.give_results(results)?;
        Ok(self.wait_for_silent(results, others) == Others::Done)
    }

    /// Repeats the last request until all nodes have finished, or until nodes that have not reported for a while count
    /// as dead.
    fn wait_for_silent(&mut self, results: &[u8], mut others: Others) -> Others {
        let absent = Duration::from_micros(self.core.run().absent_us());
        let ends = Instant::now() + absent * 5 / 4;
        while others == Others::Awaited && Instant::now() < ends {
            thread::sleep(RETRY);
            let request = self.last_request(results, true);
            let answer = self.exchange(&request);
            if let (Request::Finish { .. }, Ok(heard)) = (&request, answer) {
                others = heard;
            }
        }
        others
    }

    fn give_results(&mut self, results: &[u8]) -> Result<Others, FleetError> {
        let (ends, mut has_heard) = (Instant::now() + ENDS_IN, false);
        loop {
            let request = self.last_request(results, has_heard);
            let is_finish = matches!(request, Request::Finish { .. });
            match self.exchange(&request) {
                Err(error) if Instant::now() > ends => return Err(error),
                Err(_) => thread::sleep(RETRY),
                Ok(_) if matches!(self.core.failure(), Some(FleetError::Replaced)) => {
                    return Err(FleetError::Replaced);
                }
                Ok(others) if is_finish && self.core.has_marked_all() => return Ok(others),
                Ok(_) => has_heard = true,
            }
        }
    }

    fn last_request(&mut self, results: &[u8], has_heard: bool) -> Request {
        let progress = self.progress(self.clock.now_ns());
        let started = self.pacer.ledger().granted.saturating_sub(self.not_started);
        let progress = Progress { started, ..progress }.text();
        self.core.last_request(has_heard, progress, results)
    }

    fn retried(&mut self, request: &Request) -> Result<(), FleetError> {
        let ends = Instant::now() + ENDS_IN;
        loop {
            match self.exchange(request) {
                Ok(_) if matches!(self.core.failure(), Some(FleetError::Replaced)) => {
                    return Err(FleetError::Replaced);
                }
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > ends => return Err(error),
                Err(_) => thread::sleep(RETRY),
            }
        }
    }
}

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
    let origin_us = core.run().origin_us;
    match answer {
        // The clocks differ by more than a frame, so the store and the node disagree about which frames are claimable.
        Answer::Claimed(_) if sample.is_off(clock, origin_us, frame_ns) => core.refuses_answer(now),
        answer => core.hears_answer(request, answer, sample.round_trip_ns(), now)?,
    }
    leader.take(clock, sample, origin_us, frame_ns);
    Ok(())
}

/// The maximum time to wait for a response when a node leaves or finishes.
const PATIENCE: Duration = Duration::from_secs(3);

const ENDS_IN: Duration = Duration::from_secs(5);

/// The maximum time for which a leaving node asks for its tracks while the store responds. If the link has just become
/// slow, a node lags, and may need 8 s to learn its tracks.
pub(crate) const LEAVES_IN: Duration = Duration::from_secs(20);

const RETRY: Duration = Duration::from_millis(50);
