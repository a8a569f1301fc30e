//! Makes random calls with little work between them, and records their results.

use crate::stress::record::{Call, Record};
use crate::stress::scenario::{Scenario, Work};
use fastrand::Rng;
use nanopace::{Claim, Clock, Grant, Lane, Nanos, Pacer, Poller, Refused};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of records of a worker. More records would take longer to check than to make.
const MOST_CALLS: usize = 6_000;
/// The number of records after which a worker no longer records temporary refusals, because there are many of them.
const MOST_WITH_REFUSALS: usize = 2_000;
const MOST_CLAIMS: usize = 3;

pub(crate) struct RoundShared<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) pacer: &'a Pacer,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) began: Instant,
    pub(crate) lanes: AtomicU64,
    pub(crate) stop: AtomicBool,
}

pub(crate) struct Worker<'a> {
    shared: &'a RoundShared<'a>,
    rng: Rng,
    lane: Option<(u64, Lane)>,
    claims: Vec<Claim<'a>>,
    poller: Poller,
    records: Vec<Record>,
}

struct Noted {
    call: Call,
    lane: u64,
    slots: u32,
    limit: Nanos,
    before: Nanos,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a RoundShared<'a>, number: u64) -> Self {
        let rng = Rng::with_seed(shared.scenario.seed ^ ((number + 1) << 32));
        let poller = shared.pacer.poller();
        Worker { shared, rng, lane: None, claims: Vec::new(), poller, records: Vec::new() }
    }

    /// Gives back all held slots at the end, because it drops its claims, its lane and its poller.
    pub(crate) fn run(mut self) -> Vec<Record> {
        let is_closed = |records: &[Record]| {
            records.last().is_some_and(|last| last.answer == Err(Refused::Closed))
        };
        while !self.shared.stop.load(Ordering::Relaxed)
            && !is_closed(&self.records)
            && self.records.len() < MOST_CALLS
        {
            self.call();
            self.work();
        }
        self.records
    }

    fn call(&mut self) {
        match self.draw_call() {
            Call::Acquire => self.note(Call::Acquire, 1, Nanos::ZERO, |pacer| Ok(pacer.acquire()?)),
            Call::TryAcquire | Call::Drain => {
                self.note(Call::TryAcquire, 1, Nanos::ZERO, Pacer::try_acquire);
            }
            Call::Timeout => self.timeout(),
            Call::Deadline => self.deadline(),
            Call::Many => self.many(),
            Call::Claim => self.claim(),
            Call::Poller => self.poll(),
            Call::Lane => self.lane(),
        }
    }

    /// If workers may not block, replaces calls that may block for a long time with [`Call::Timeout`].
    fn draw_call(&mut self) -> Call {
        let weights = self.shared.scenario.weights;
        let of = weights.iter().map(|weight| u32::from(*weight)).sum::<u32>();
        let mut left = self.rng.u32(0..=of);
        let heavier = |(_, weight): &(&Call, u8)| {
            let found = left <= u32::from(*weight);
            left = left.saturating_sub(u32::from(*weight));
            found
        };
        let drawn =
            Call::ALL.iter().zip(weights).find(heavier).map_or(Call::TryAcquire, |(call, _)| *call);
        match drawn {
            Call::Acquire | Call::Many | Call::Lane if !self.shared.scenario.may_block() => {
                Call::Timeout
            }
            other => other,
        }
    }

    fn timeout(&mut self) {
        let timeout = self.draw_span();
        let limit = self.shared.pacer.now() + timeout;
        self.note(Call::Timeout, 1, limit, |pacer| pacer.acquire_timeout(timeout));
    }

    fn deadline(&mut self) {
        let earlier = Duration::from_micros(self.rng.u64(0..100));
        let moment =
            Nanos::ZERO + ((self.shared.pacer.now() + self.draw_span()) - (Nanos::ZERO + earlier));
        self.note(Call::Deadline, 1, moment, |pacer| pacer.acquire_deadline(moment));
    }

    fn many(&mut self) {
        let slots = self.rng.u32(0..=self.shared.scenario.longest_row());
        self.note(Call::Many, slots, Nanos::ZERO, |pacer| pacer.acquire_many(slots));
    }

    fn claim(&mut self) {
        if self.claims.len() < MOST_CLAIMS && self.rng.bool() {
            match self.shared.pacer.claim() {
                Ok(claim) => self.claims.push(claim),
                Err(closed) => self.note(Call::Claim, 1, Nanos::ZERO, |_| Err(closed.into())),
            }
        } else if !self.claims.is_empty() {
            let claim = self.claims.swap_remove(self.rng.usize(0..self.claims.len()));
            self.start(claim);
        }
    }

    fn start(&mut self, mut claim: Claim<'a>) {
        let due = claim.due().unwrap_or(Nanos::MAX);
        let mut answer = Err(Refused::Closed);
        self.note(Call::Claim, 1, due, |_| {
            answer = claim.start();
            answer
        });
        if answer.is_ok() {
            assert_eq!(claim.start(), answer, "a claim that is started again");
        } else if self.rng.bool() {
            self.claims.push(claim);
        }
    }

    fn poll(&mut self) {
        let slice = self.draw_span();
        let noted = self.noted(Call::Poller, 0, 1, Nanos::ZERO);
        let answer = if slice.is_zero() { self.poller.poll() } else { self.poller.wait_for(slice) };
        self.push(&noted, answer);
        match self.rng.u8(0..16) {
            0 => self.poller.give_back(),
            1 => self.poller = self.shared.pacer.poller(),
            _ => (),
        }
    }

    fn lane(&mut self) {
        let fresh =
            || (self.shared.lanes.fetch_add(1, Ordering::Relaxed), self.shared.pacer.lane());
        let (number, mut lane) = self.lane.take().unwrap_or_else(fresh);
        for _ in 0..self.rng.u32(1..20) {
            let noted = self.noted(Call::Lane, number, 1, Nanos::ZERO);
            let answer = lane.acquire().map_err(Refused::from);
            self.push(&noted, answer);
            if answer.is_err() {
                return;
            }
            self.work();
        }
        match self.rng.u8(0..8) {
            0 => lane.give_back(),
            1 => return,
            _ => (),
        }
        self.lane = Some((number, lane));
    }

    fn note(
        &mut self,
        call: Call,
        slots: u32,
        limit: Nanos,
        ask: impl FnOnce(&Pacer) -> Result<Grant, Refused>,
    ) {
        let noted = self.noted(call, 0, slots, limit);
        let answer = ask(self.shared.pacer);
        self.push(&noted, answer);
    }

    fn noted(&self, call: Call, lane: u64, slots: u32, limit: Nanos) -> Noted {
        Noted { call, lane, slots, limit, before: self.shared.clock.now() }
    }

    fn push(&mut self, noted: &Noted, answer: Result<Grant, Refused>) {
        let (after, real) = (self.shared.pacer.now(), self.shared.began.elapsed());
        let Noted { call, lane, slots, limit, before } = *noted;
        let is_one_of_many = matches!(answer, Err(Refused::NotUntil(_) | Refused::Paused));
        if !is_one_of_many || self.records.len() < MOST_WITH_REFUSALS {
            self.records.push(Record { call, lane, slots, limit, before, after, real, answer });
        }
    }

    fn draw_span(&mut self) -> Duration {
        Duration::from_nanos(self.rng.u64(0..4_000_000).saturating_sub(1_000_000))
    }

    fn work(&mut self) {
        let shortest = match self.shared.scenario.work {
            Work::None => return,
            Work::Mixed => 0,
            Work::Long => 11,
        };
        match self.rng.u32(0..400) {
            0 => thread::sleep(Duration::from_millis(self.rng.u64(1..8))),
            1..4 => thread::sleep(Duration::from_micros(self.rng.u64(11..300))),
            4..250 if shortest == 0 => (),
            _ => spin_for(Duration::from_micros(self.rng.u64(shortest..40))),
        }
    }
}

fn spin_for(span: Duration) {
    let began = Instant::now();
    while began.elapsed() < span {
        std::hint::spin_loop();
    }
}
