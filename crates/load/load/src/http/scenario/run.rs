//! Sends the steps of a slot's scenario, one after the other, until a step fails.

use super::{LONGEST_THINK, think};
use crate::http::client::session::{Answer, Session};
use crate::http::client::steps::{Scenario, Step};
use crate::load::kind::FailureKind;
use crate::{Done, Failure, Slot};
use nanopace::Nanos;

pub(crate) async fn run(
    scenario: &Scenario,
    session: &mut Session,
    slot: Slot,
) -> Result<Done, Failure> {
    session.forget();
    let whole = Done::new().sent(slot.start, None);
    let whole = scenario.label.map_or(whole, |label| whole.label(label));
    let (mut due, mut now) = (slot.intended_start(), slot.start);
    for (number, step) in (0..).zip(&scenario.steps) {
        let answer = session.send_step(step, (slot.number(), number), now).await;
        let end = session.now();
        let outcome = outcome(step, session, slot.number(), &answer);
        if slot.is_recorded {
            count(step, session, &answer, outcome, [due, end]);
        }
        outcome.map_err(|kind| answer.failure(kind).with(whole))?;
        let think = session.think_time(step, (slot.number(), number)).min(LONGEST_THINK);
        (due, now) = (end + think, end);
        if let Some(steps) = session.counted_by.as_ref().filter(|_| !think.is_zero()) {
            steps.rest(session.index, slot, due);
            think::until(due, session.clock()).await;
            now = steps.go_on(session.index, slot);
        }
    }
    Ok(whole)
}

fn count(
    step: &Step,
    session: &Session,
    answer: &Answer,
    outcome: Result<(), FailureKind>,
    [due, end]: [Nanos; 2],
) {
    let done = answer.done().label(step.label);
    let called = outcome.map(|()| done).map_err(|kind| Failure::of(kind).with(done));
    if let Some(steps) = &session.counted_by {
        steps.end(session.index, due, end, called);
    }
}

fn outcome(
    step: &Step,
    session: &mut Session,
    number: u64,
    answer: &Answer,
) -> Result<(), FailureKind> {
    let mut taken = Vec::new();
    let outcome = if step.has_status() { answer.status.map(drop) } else { answer.outcome() };
    outcome.map_err(|why| {
        let kind = why.kind();
        FailureKind::of_group(kind.group(), &format!("{}: {kind}", step.label))
    })?;
    if let Some(looked) = answer.status.ok().and_then(|status| session.searched(status)) {
        let mut values = session.values(number);
        step.checks.iter().try_for_each(|check| check.of(&looked, &mut values))?;
        for take in &step.takes {
            taken.push(take.value(&looked)?);
        }
    }
    session.remember(&mut taken);
    Ok(())
}
