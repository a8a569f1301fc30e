//! The state of a managed pool, which its threads share: the tokens, and the callers that wait for them.

use super::TokenPool;
use super::refill_thread::Ticks;
use crate::rules::room_beside;
use crate::sync::Sender;
use crate::{Quota, QuotaError, Rejected};
use nanopace_nanos::Nanos;
use std::collections::VecDeque;
use std::time::Duration;
use thiserror::Error;

/// The reason why a request did not get its tokens. No token was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The pool has been closed.
    #[error("the pool is closed and gets no more tokens")]
    Closed,
    /// The request is for more tokens than the pool can hold, perhaps because the pool was made smaller.
    #[error(
        "the request is for more than the {capacity} tokens that the pool can hold: take fewer tokens, or enlarge the pool"
    )]
    ExceedsCapacity {
        /// The maximum number of tokens that the pool can hold.
        capacity: u64,
    },
}

pub(crate) type Answer = Result<Nanos, AcquireError>;

#[derive(Debug)]
pub(crate) struct State {
    level: PoolLevel,
    flow: Flow,
    ticks: Ticks,
    queue: VecDeque<Waiter>,
    closed: bool,
}

#[derive(Clone, Debug)]
struct PoolLevel {
    pool: TokenPool,
    refilled: u128,
    /// The moment up to which the other fields are current.
    latest: Nanos,
}

#[derive(Debug)]
struct Waiter {
    tokens: u64,
    answer: Sender<Answer>,
}

impl Waiter {
    fn tell(self, answer: Answer) {
        // No error is possible, because the caller waits for the answer.
        let _ = self.answer.send(answer);
    }
}

impl PoolLevel {
    fn bring(&mut self, flow: &Flow, moment: Nanos) {
        let total = flow.brought_by(moment);
        let new = u64::try_from(total - self.refilled).expect("at most one token per nanosecond");
        (self.latest, self.refilled) = (moment, total);
        self.pool.refill(new);
    }

    fn refill(&mut self, flow: &Flow, ticks: &Ticks, now: Nanos) {
        let due = ticks.last_at_or_before(now);
        if due > self.latest {
            self.bring(flow, due);
        }
    }

    fn taken(&self) -> u128 {
        self.refilled - self.pool.waiting() - u128::from(self.pool.active())
    }
}

impl State {
    pub(crate) fn new(
        pool: TokenPool,
        quota: Quota,
        interval: Duration,
        now: Nanos,
    ) -> Result<State, QuotaError> {
        Ok(State {
            level: PoolLevel { pool, refilled: 0, latest: now },
            flow: Flow::new(quota, now),
            ticks: Ticks::new(now, interval)?,
            queue: VecDeque::new(),
            closed: false,
        })
    }

    pub(crate) fn pool(&self) -> &TokenPool {
        &self.level.pool
    }

    pub(crate) fn quota(&self) -> Quota {
        self.flow.quota()
    }

    pub(crate) fn interval(&self) -> Duration {
        self.ticks.interval()
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn refill(&mut self, now: Nanos) {
        if !self.closed {
            self.level.refill(&self.flow, &self.ticks, now);
            self.serve();
        }
    }

    pub(crate) fn next_refill(&self) -> Nanos {
        self.ticks.first_after(self.level.latest)
    }

    fn serve(&mut self) {
        while let Some(first) = self.queue.front() {
            if !self.level.pool.take(first.tokens) {
                return;
            }
            let intended = self.intended_start();
            self.queue.pop_front().into_iter().for_each(|waiter| waiter.tell(Ok(intended)));
        }
    }

    pub(crate) fn take(&mut self, tokens: u64, now: Nanos) -> Result<Nanos, Rejected> {
        if tokens == 0 {
            return Ok(now);
        }
        self.check_size(tokens)?;
        self.refill(now);
        self.check(&self.level, self.queue.is_empty(), tokens)?;
        assert!(self.level.pool.take(tokens), "checked");
        Ok(self.intended_start())
    }

    pub(crate) fn peek(&self, tokens: u64, now: Nanos) -> Result<(), Rejected> {
        if tokens == 0 {
            return Ok(());
        }
        self.check_size(tokens)?;
        let mut level = self.level.clone();
        if !self.closed {
            level.refill(&self.flow, &self.ticks, now);
        }
        let is_free = self.queue.iter().all(|waiter| level.pool.take(waiter.tokens));
        self.check(&level, is_free, tokens)
    }

    fn check_size(&self, tokens: u64) -> Result<(), Rejected> {
        room_beside(tokens, self.level.pool.capacity()).map(drop)
    }

    /// Checks whether tokens are available. `is_free` is true if no caller waits for these tokens.
    fn check(&self, level: &PoolLevel, is_free: bool, tokens: u64) -> Result<(), Rejected> {
        match level.pool.active() {
            active if is_free && tokens <= active => Ok(()),
            _ if self.closed => Err(Rejected::NotUntil(Nanos::MAX)),
            _ => Err(Rejected::NotUntil(self.refill_for(level, tokens))),
        }
    }

    fn refill_for(&self, level: &PoolLevel, tokens: u64) -> Nanos {
        let total = level.refilled + level.pool.enough_for(tokens);
        let there = self.ticks.first_at_or_after(self.flow.moment_of(total));
        there.max(self.ticks.first_after(level.latest))
    }

    /// Takes tokens at once. Returns `None` if the caller has to wait in the queue.
    pub(crate) fn try_acquire(&mut self, tokens: u64, now: Nanos) -> Option<Answer> {
        self.refill(now);
        let capacity = self.level.pool.capacity();
        match tokens {
            0 => Some(Ok(now)),
            _ if self.closed => Some(Err(AcquireError::Closed)),
            _ if tokens > capacity => Some(Err(AcquireError::ExceedsCapacity { capacity })),
            _ if self.queue.is_empty() && self.level.pool.take(tokens) => {
                Some(Ok(self.intended_start()))
            }
            _ => None,
        }
    }

    pub(crate) fn queue(&mut self, tokens: u64, answer: Sender<Answer>) {
        self.queue.push_back(Waiter { tokens, answer });
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.queue.drain(..).for_each(|waiter| waiter.tell(Err(AcquireError::Closed)));
    }

    fn changed_at(&self, now: Nanos) -> Nanos {
        now.max(self.level.latest)
    }

    fn refill_anew(&mut self, now: Nanos) {
        if !self.closed {
            self.level.bring(&self.flow, now);
            self.serve();
        }
    }

    pub(crate) fn set_quota(&mut self, quota: Quota, now: Nanos) {
        let now = self.changed_at(now);
        self.flow.set_quota(quota, now, self.level.taken());
        self.refill_anew(now);
    }

    pub(crate) fn set_interval(
        &mut self,
        interval: Duration,
        now: Nanos,
    ) -> Result<(), QuotaError> {
        let now = self.changed_at(now);
        self.ticks = Ticks::new(now, interval)?;
        self.refill_anew(now);
        Ok(())
    }

    pub(crate) fn set_size(&mut self, size: u64, ratio: f64, now: Nanos) -> Result<(), QuotaError> {
        self.level.pool.set_size(size, ratio)?;
        self.turn_away();
        self.refill_anew(self.changed_at(now));
        Ok(())
    }

    fn turn_away(&mut self) {
        let capacity = self.level.pool.capacity();
        for waiter in std::mem::take(&mut self.queue) {
            if waiter.tokens > capacity {
                waiter.tell(Err(AcquireError::ExceedsCapacity { capacity }));
            } else {
                self.queue.push_back(waiter);
            }
        }
    }

    /// Returns the moment at which as many tokens had accrued as have been taken so far.
    fn intended_start(&self) -> Nanos {
        self.flow.moment_of(self.level.taken())
    }
}

/// The moments at which tokens accrue, under quotas that change. A change loses less than the fraction of a token that
/// accrues in 1 ns.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The quotas that still matter, oldest first. The last one is in force, so there is at least one.
    stretches: VecDeque<Stretch>,
}

#[derive(Debug)]
pub(crate) struct Stretch {
    quota: Quota,
    start: Nanos,
    before: u128,
    /// The fraction of the next token that had accrued before this stretch, in units of 1 / `period`; below 1.
    carry: u64,
}

impl Flow {
    pub(crate) fn new(quota: Quota, start: Nanos) -> Flow {
        Flow { stretches: [Stretch { quota, start, before: 0, carry: 0 }].into() }
    }

    fn current(&self) -> &Stretch {
        self.stretches.back().expect("a flow has at least one stretch")
    }

    pub(crate) fn quota(&self) -> Quota {
        self.current().quota
    }

    /// Returns the number of tokens that have accrued by a moment. `moment` must not be before the last change.
    pub(crate) fn brought_by(&self, moment: Nanos) -> u128 {
        let current = self.current();
        current.before + current.since(moment) / u128::from(current.quota.period_ns())
    }

    /// Returns the moment at which a token accrues. Tokens are counted from 1.
    pub(crate) fn moment_of(&self, number: u128) -> Nanos {
        let stretch = self.stretches.iter().rfind(|stretch| stretch.before < number);
        stretch.map_or(Nanos::ZERO, |stretch| stretch.moment_of(number))
    }

    /// Changes the quota. Drops the stretches whose tokens are all among the first `taken` tokens, because no caller
    /// asks for their moments any more.
    pub(crate) fn set_quota(&mut self, quota: Quota, now: Nanos, taken: u128) {
        if quota == self.quota() {
            return;
        }
        let period = u128::from(self.quota().period_ns());
        let part = self.current().since(now) % period;
        let carry = u64::try_from(part * u128::from(quota.period_ns()) / period)
            .expect("less than the period");
        let before = self.brought_by(now);
        self.stretches.push_back(Stretch { quota, start: now, before, carry });
        while self.stretches.get(1).is_some_and(|next| next.before <= taken) {
            self.stretches.pop_front();
        }
    }
}

impl Stretch {
    /// Returns the tokens that have accrued since the start of the stretch, in units of 1 / `period` of a token, with
    /// the carry.
    fn since(&self, moment: Nanos) -> u128 {
        (moment - self.start).as_nanos() * u128::from(self.quota.count()) + u128::from(self.carry)
    }

    fn moment_of(&self, number: u128) -> Nanos {
        let missing = (number - self.before)
            .saturating_mul(u128::from(self.quota.period_ns()))
            .saturating_sub(u128::from(self.carry));
        let elapsed_ns = missing.div_ceil(u128::from(self.quota.count()));
        let elapsed_ns = u64::try_from(elapsed_ns).unwrap_or(u64::MAX);
        Nanos::from_nanos(self.start.as_nanos().saturating_add(elapsed_ns))
    }
}
