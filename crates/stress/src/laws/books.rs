//! What ledger and statistics say when everyone is at rest.

use super::law;
use crate::course::{Course, SLOT, State};
use crate::record::{Call, Record};
use crate::round::{Books, Evidence};
use nanopace::Grant;
use std::time::Duration;

/// Every law about the books.
pub(super) fn check(evidence: &Evidence) -> Result<(), String> {
    let books = &evidence.at_rest;
    let checked = balances(books)
        .and_then(|()| counts(evidence))
        .and_then(|()| statistics(evidence))
        .and_then(|()| time_is_the_clocks(evidence))
        .and_then(|()| none_lost(evidence));
    checked.map_err(|law| format!("{law}\n{:?}", books.ledger))
}

fn balances(books: &Books) -> Result<(), String> {
    let ledger = &books.ledger;
    let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
    law(ledger.elapsed == sum, || format!("the ledger does not balance: the sum is {sum:?}"))
}

fn counts(evidence: &Evidence) -> Result<(), String> {
    let ledger = &evidence.at_rest.ledger;
    let started: u64 =
        evidence.records.iter().filter_map(Record::start).map(|start| start.slots).sum();
    law(ledger.granted == started, || format!("{started} slots started"))?;
    let plan = &evidence.plan;
    let may_skip = plan.policy.skip_later_than.is_some() || !plan.never_forfeits();
    law(may_skip || ledger.skipped == 0, || "skipped by nobody".to_owned())?;
    law(!plan.never_forfeits() || ledger.idle.is_zero(), || "idle time without a policy".to_owned())
}

fn statistics(evidence: &Evidence) -> Result<(), String> {
    let stats = &evidence.at_rest.stats;
    let count = |which: &dyn Fn(&Record, Grant) -> bool| {
        let of = |record: &&Record| record.answer.is_ok_and(|grant| which(record, grant));
        evidence.records.iter().filter(of).count() as u64
    };
    let by_lanes = count(&|record, _| record.call == Call::Lane);
    let recorded = stats.wait_time().len();
    law(recorded == by_lanes, || format!("{by_lanes} starts by lanes, {recorded} wait times"))?;
    let (delays, oversleeps) = (stats.delay().len(), stats.oversleep().len());
    law(delays == oversleeps && delays <= by_lanes, || {
        format!("{delays} delays, {oversleeps} oversleeps")
    })?;
    let early = count(&|_, grant| grant.actual_start() < grant.intended_start());
    let told = stats.early_starts();
    law(told == early, || format!("{early} early starts, {told} counted"))
}

/// Schedule time is the clock's, without the pauses.
fn time_is_the_clocks(evidence: &Evidence) -> Result<(), String> {
    let runs = |state: State| u64::from(state.runs);
    let (most, least) = (bound(evidence, runs, u64::max), bound(evidence, runs, u64::min));
    let span = |nanos: u128| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    let books = &evidence.at_rest;
    let (least, most) =
        (span(least.until(books.before.as_nanos())), span(most.until(books.after.as_nanos())));
    let elapsed = books.ledger.elapsed;
    law(least <= elapsed && elapsed <= most, || format!("{least:?} to {most:?} have elapsed"))
}

/// What the rate has brought, and nobody forfeited, has been granted or skipped, or is still there.
fn none_lost(evidence: &Evidence) -> Result<(), String> {
    let plan = &evidence.plan;
    if !plan.never_forfeits() || plan.policy.strictness.get() > 0.0 || evidence.next.is_none() {
        return Ok(());
    }
    let books = &evidence.at_rest;
    let least = bound(evidence, State::speed, u64::min).until(books.before.as_nanos()) / SLOT;
    let there = books.ledger.granted + books.ledger.skipped + books.ledger.backlog_slots;
    law(u128::from(there + 1) >= least, || {
        format!("{least} slots have come, {there} are accounted for")
    })
}

fn bound(
    evidence: &Evidence,
    speed: impl Fn(State) -> u64,
    choose: impl Fn(u64, u64) -> u64,
) -> Course {
    let start = State { rate: evidence.plan.rate, runs: true };
    Course::new(evidence.origin, start, &evidence.changes, speed, choose)
}
