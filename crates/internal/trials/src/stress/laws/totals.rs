//! Checks the laws about the ledger and the counters after all threads have ended.

use super::law::law;
use crate::stress::allowance::{Allowance, SLOT, State};
use crate::stress::evidence::{Evidence, Totals};
use crate::stress::record::Record;
use nanopace::Grant;
use std::time::Duration;

pub(super) fn check(evidence: &Evidence) -> Result<(), String> {
    let totals = &evidence.at_rest;
    let checked = balances(totals)
        .and_then(|()| counts(evidence))
        .and_then(|()| early_starts(evidence))
        .and_then(|()| time_is_the_clocks(evidence))
        .and_then(|()| none_lost(evidence));
    checked.map_err(|law| format!("{law}\n{:?}", totals.ledger))
}

fn balances(totals: &Totals) -> Result<(), String> {
    let ledger = &totals.ledger;
    let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
    law(ledger.elapsed == sum, || format!("the ledger does not balance: the sum is {sum:?}"))
}

fn counts(evidence: &Evidence) -> Result<(), String> {
    let ledger = &evidence.at_rest.ledger;
    let started: u64 =
        evidence.records.iter().filter_map(Record::start).map(|start| start.slots).sum();
    law(ledger.granted == started, || {
        format!("{started} slots started, but {} were granted", ledger.granted)
    })?;
    let scenario = &evidence.scenario;
    let may_skip = scenario.policy.skip_later_than.is_some() || !scenario.never_forfeits();
    law(may_skip || ledger.skipped == 0, || "skipped, but not by a policy".to_owned())?;
    law(!scenario.never_forfeits() || ledger.idle.is_zero(), || {
        "idle time without a policy".to_owned()
    })
}

fn early_starts(evidence: &Evidence) -> Result<(), String> {
    let is_early = |grant: Grant| grant.actual_start() < grant.intended_start();
    let early = |record: &&Record| record.answer.is_ok_and(is_early);
    let early = evidence.records.iter().filter(early).count() as u64;
    let told = evidence.at_rest.counters.early_starts;
    law(told == early, || format!("{early} early starts, {told} counted"))
}

fn time_is_the_clocks(evidence: &Evidence) -> Result<(), String> {
    let runs = |state: State| u64::from(state.runs);
    let (most, least) = (bound(evidence, runs, u64::max), bound(evidence, runs, u64::min));
    let span = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    let totals = &evidence.at_rest;
    let (least, most) =
        (span(least.until(totals.before.as_nanos())), span(most.until(totals.after.as_nanos())));
    let elapsed = totals.ledger.elapsed;
    law(least <= elapsed && elapsed <= most, || {
        format!("the elapsed time is not between {least:?} and {most:?}")
    })
}

/// The law holds only if no policy forfeits or owes time.
fn none_lost(evidence: &Evidence) -> Result<(), String> {
    let scenario = &evidence.scenario;
    if !scenario.never_forfeits()
        || scenario.policy.strictness.get() > 0.0
        || evidence.next.is_none()
    {
        return Ok(());
    }
    let totals = &evidence.at_rest;
    let least = bound(evidence, State::speed, u64::min).until(totals.before.as_nanos()) / SLOT;
    let there = totals.ledger.granted + totals.ledger.skipped + totals.ledger.backlog_slots;
    law(u128::from(there + 1) >= least, || {
        format!("{least} slots were due, and only {there} are accounted for")
    })
}

fn bound(
    evidence: &Evidence,
    speed: impl Fn(State) -> u64,
    choose: impl Fn(u64, u64) -> u64,
) -> Allowance {
    let start = State { rate: evidence.scenario.rate, runs: true };
    Allowance::new(evidence.origin, start, &evidence.changes, speed, choose)
}
