//! Makes a decision in a conversation with the store: chooses the next call, and interprets the responses. This module
//! does no I/O, so threads and tasks share it.
//!
//! The script decides, and returns the state before its decision. From that state, the local rules compute the complete
//! decision, with the number of remaining requests and the retry time.

use crate::error::StoreError;
use crate::plan::{Plan, read_state, write_state};
use crate::script::{Call, DECIDE, REPLACE};
use crate::stats::{AtRisk, Counters};
use nanopace_limits::custom::{LimitsState, Receipt};
use nanopace_limits::{Decision, Limits, Rule};
use nanopace_nanos::Nanos;
use redis::Value;
use std::iter;
use std::time::Duration;

/// The maximum number of times that a decision replaces the limits in the key's state. Processes with other limits may
/// replace them again before the decision is made.
const ATTEMPTS: u32 = 16;

#[derive(Debug)]
pub(crate) struct Decide<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) key: &'a str,
    pub(crate) costs: &'a [u64],
    /// The maximum number of tokens to take ahead. At most 1 / `share` of the tokens that remain after the request are
    /// taken.
    pub(crate) more: u64,
    pub(crate) share: u64,
    /// The store's time in microseconds, set by tests only.
    pub(crate) micros: Option<u64>,
    pub(crate) attempts: u32,
    pub(crate) is_heard: bool,
    takes: u64,
    at_risk: AtRisk<'a>,
}

#[derive(Debug)]
pub(crate) enum Step {
    Call(Call),
    Done(Answer),
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    pub(crate) more: Option<More>,
}

#[derive(Debug)]
pub(crate) struct More {
    pub(crate) tokens: u64,
    /// The receipt for the tokens and for the request itself.
    pub(crate) receipt: Receipt,
    /// The moment of the decision, by the store's clock.
    pub(crate) at: Nanos,
}

impl<'a> Decide<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        key: &'a str,
        costs: &'a [u64],
        counters: &'a Counters,
    ) -> Self {
        Self {
            plan,
            key,
            costs,
            more: 0,
            share: 1,
            micros: None,
            attempts: ATTEMPTS,
            is_heard: false,
            takes: 0,
            at_risk: AtRisk::none(counters),
        }
    }

    pub(crate) fn call(&mut self) -> Call {
        let mode = if self.plan.counts_nothing(self.costs) { "look" } else { "take" };
        let largest = self.costs.iter().copied().max().unwrap_or(0);
        self.takes = if mode == "take" { largest.saturating_add(self.more) } else { 0 };
        let mut arguments = vec![
            self.plan.text.clone(),
            mode.to_owned(),
            self.micros.map(|micros| micros.to_string()).unwrap_or_default(),
            largest.to_string(),
            self.more.to_string(),
            self.share.to_string(),
        ];
        for (law, cost) in self.plan.laws.iter().zip(self.costs) {
            arguments.extend([law.clone(), cost.to_string()]);
        }
        Call { source: &DECIDE, key: self.key.to_owned(), arguments }
    }

    pub(crate) fn sent(&mut self) {
        self.at_risk.tokens = self.takes;
    }

    pub(crate) fn next(&mut self, answer: &Value) -> Result<Step, StoreError> {
        self.is_heard = true;
        self.at_risk.tokens = 0;
        if let Value::Int(_) = answer {
            // This is the reply of `replace.lua`: this process (1) or another one (0) has changed the state.
            return Ok(Step::Call(self.call()));
        }
        let Reply { verdict, now, more, before } = Reply::read(answer)?;
        if verdict == 2 {
            self.attempts = self.attempts.checked_sub(1).ok_or(StoreError::Contended)?;
            return self.carry(&before, now).map(Step::Call);
        }
        self.conclude(verdict == 1, now, more, &before).map(Step::Done)
    }

    /// Handles the failure of a call, and returns the error of the decision. A timeout becomes
    /// [`StoreError::Contended`] if the store has responded to an earlier call of the decision, because then the store
    /// is not lost.
    pub(crate) fn failed(&mut self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Timeout | StoreError::Connection(_)) {
            // An error is a response too: nothing was counted.
            self.at_risk.tokens = 0;
        }
        match error {
            StoreError::Timeout if self.is_heard => StoreError::Contended,
            error => error,
        }
    }

    fn carry(&mut self, before: &str, now: Nanos) -> Result<Call, StoreError> {
        self.takes = 0;
        let (old, state) = read_state(before).ok_or(StoreError::Foreign)?;
        let state = self.plan.limits.carry_over(&old, &state, now);
        replace(self.plan, self.key, before, &state, (now, self.micros))
    }

    fn conclude(
        &self,
        is_let_in: bool,
        now: Nanos,
        more: u64,
        before: &str,
    ) -> Result<Answer, StoreError> {
        let limits = &self.plan.limits;
        let state = state_of(limits, before)?;
        let costs: Vec<u64> = self.costs.iter().map(|cost| cost + more).collect();
        let decide = |at| limits.decide_costs(&mut state.clone(), at, &costs[..]).ok();
        let is_same = |decision: &Decision| {
            decision.is_allowed() == is_let_in || self.plan.counts_nothing(self.costs)
        };
        let decided = moments(now, is_let_in).map(|at| Some((at, decide(at).filter(is_same)?)));
        let (at, decision) = decided.flatten().next().ok_or(StoreError::Foreign)?;
        let receipt = || limits.reserve(&mut state.clone(), at, &costs[..]).ok();
        let more = (more > 0).then(receipt).flatten();
        let more = more.map(|receipt| More { tokens: costs[0] - self.costs[0], receipt, at: now });
        Ok(Answer { decision, more })
    }
}

/// Returns the store's moment, followed by moments at growing distances from it. The store calculates in rounded
/// doubles, so the local rules may make the same decision only at a slightly later moment if the store admitted the
/// request, or at a slightly earlier moment if it did not.
fn moments(now: Nanos, is_let_in: bool) -> impl Iterator<Item = Nanos> {
    let apart = (0..40).map(|power| Duration::from_micros(1 << power));
    let moved = move |apart| if is_let_in { now + apart } else { now - apart };
    iter::once(now).chain(apart.map(moved))
}

pub(crate) fn state_of(limits: &Limits, text: &str) -> Result<LimitsState, StoreError> {
    if text.is_empty() {
        return Ok(limits.fresh());
    }
    let (_, state) = read_state(text).ok_or(StoreError::Foreign)?;
    Ok(state)
}

pub(crate) fn look(key: &str, micros: Option<u64>) -> Call {
    let micros = micros.map(|micros| micros.to_string()).unwrap_or_default();
    let arguments = ["", "look", &micros, "", "", ""].map(str::to_owned).into();
    Call { source: &DECIDE, key: key.to_owned(), arguments }
}

/// Returns the call that replaces the limits in the key's state. `micros` is set if a test sets the time.
pub(crate) fn replace(
    plan: &Plan,
    key: &str,
    before: &str,
    state: &LimitsState,
    (now, micros): (Nanos, Option<u64>),
) -> Result<Call, StoreError> {
    let after = write_state(plan, state, now).ok_or(StoreError::Foreign)?;
    let idle = plan.limits.idle_from(state) - now;
    // A test's clock may not advance, so in tests the key expires later, as in the script.
    let longer = if micros.is_some() { 600_000 } else { 0 };
    // The time is rounded up, and 1 ms is added because the moment itself has a fraction of a millisecond.
    let milliseconds = (idle.as_millis() + 2 + longer).to_string();
    let arguments = vec![before.to_owned(), after, milliseconds];
    Ok(Call { source: &REPLACE, key: key.to_owned(), arguments })
}

pub(crate) struct Reply {
    verdict: i64,
    pub(crate) now: Nanos,
    more: u64,
    pub(crate) before: String,
}

impl Reply {
    pub(crate) fn read(answer: &Value) -> Result<Self, StoreError> {
        let told = redis::from_redis_value_ref::<(i64, u64, u64, String)>(answer);
        let (verdict, micros, more, before) = told.map_err(|_| StoreError::Foreign)?;
        let now = Nanos::from_nanos(micros.saturating_mul(1_000));
        Ok(Self { verdict, now, more, before })
    }
}
