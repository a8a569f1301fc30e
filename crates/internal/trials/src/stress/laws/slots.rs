//! Checks that no slot of a round starts twice or is missing, and that the rate bounds the starts.

use super::law::law;
use crate::stress::allowance::{Allowance, SLOT, State};
use crate::stress::changer::ChangeTo;
use crate::stress::evidence::Evidence;
use crate::stress::record::{Record, Start};
use crate::stress::scenario::Changes;
use nanopace::Nanos;

/// The number of changes up to which the pacer computes the intended starts of late slots exactly.
const REMEMBERED: usize = 32;

pub(super) fn check(evidence: &Evidence) -> Result<(), String> {
    let mut starts: Vec<Start> = evidence.records.iter().filter_map(Record::start).collect();
    starts.retain(|start| start.slots > 0);
    began_when_told(evidence)?;
    starts.sort_unstable_by_key(|start| start.intended);
    let paused = evidence.changes.iter().any(|change| change.to == ChangeTo::Paused);
    if evidence.scenario.sleep_threshold.is_zero() && !paused {
        an_interval_apart(evidence, &exact(evidence, &starts))?;
    }
    if evidence.scenario.changes == Changes::None && evidence.scenario.never_forfeits() {
        on_the_grid(evidence, &starts)?;
        none_missing(evidence, &starts)?;
    }
    starts.sort_unstable_by_key(|start| start.actual);
    within_the_rate(evidence, &starts)
}

fn began_when_told(evidence: &Evidence) -> Result<(), String> {
    let (from, to) = evidence.born;
    let origin = evidence.origin;
    law(from <= origin && origin <= to, || {
        format!("slot 0 is at {origin:?}, but the pacer was made between {from:?} and {to:?}")
    })
}

fn fastest(evidence: &Evidence) -> u64 {
    let rates = evidence.changes.iter().filter_map(|change| match change.to {
        ChangeTo::Rate(rate) => Some(rate),
        _ => None,
    });
    rates.fold(evidence.scenario.rate, u64::max)
}

/// Returns the starts that the pacer computed exactly. For slots that became due before more than [`REMEMBERED`]
/// changes, the pacer interpolates intended starts. Any start may have forfeited time, so it also counts as a change.
fn exact(evidence: &Evidence, starts: &[Start]) -> Vec<Start> {
    if evidence.scenario.never_forfeits() && evidence.changes.len() <= REMEMBERED {
        return starts.to_vec();
    }
    let mut moments: Vec<u64> = starts.iter().map(|start| start.actual).collect();
    moments.extend(
        evidence
            .changes
            .iter()
            .flat_map(|change| [change.before, change.after])
            .map(Nanos::as_nanos),
    );
    moments.sort_unstable();
    let before = |moment| moments.partition_point(|at| *at < moment);
    let is_fresh =
        |start: &&Start| before(start.actual).saturating_sub(before(start.intended)) <= REMEMBERED;
    starts.iter().filter(is_fresh).copied().collect()
}

/// Checks that slots are at least an interval of the fastest rate apart, because forfeited time only moves slots apart.
/// The law does not hold for early starts and around pauses, where a slot can start before an earlier slot is moved.
fn an_interval_apart(evidence: &Evidence, starts: &[Start]) -> Result<(), String> {
    let fastest = u128::from(fastest(evidence));
    let close = starts.windows(2).find(|pair| {
        let gap = u128::from(pair[1].intended - pair[0].intended);
        (gap + 1) * fastest < u128::from(pair[0].slots) * SLOT
    });
    law(close.is_none(), || {
        format!(
            "closer than {fastest}/s allows, after {} changes: {close:?}",
            evidence.changes.len()
        )
    })
}

/// Returns the number of the slot. Fails unless the start is a whole number of intervals after slot 0, to the
/// nanosecond.
fn number(evidence: &Evidence, intended: u64) -> Result<u64, String> {
    let rate = u128::from(evidence.scenario.rate);
    let since = u128::from(intended.saturating_sub(evidence.origin.as_nanos())) * rate;
    let number = (since + SLOT / 2) / SLOT;
    law(since.abs_diff(number * SLOT) <= rate, || {
        format!("{intended} ns is not the start of a slot")
    })?;
    u64::try_from(number).map_err(|_| "a slot number of 2^64 or more".to_owned())
}

fn on_the_grid(evidence: &Evidence, starts: &[Start]) -> Result<(), String> {
    let mut free = 0;
    for start in starts {
        let number = number(evidence, start.intended)?;
        law(number >= free, || format!("slot {number} twice: {start:?}"))?;
        free = number + start.slots;
    }
    Ok(())
}

fn none_missing(evidence: &Evidence, starts: &[Start]) -> Result<(), String> {
    let Some(next) = evidence.next else { return Ok(()) };
    if !evidence.scenario.sleep_threshold.is_zero() || evidence.scenario.policy.is_late() {
        return Ok(());
    }
    let next = number(evidence, next.as_nanos())?;
    let started: u64 = starts.iter().map(|start| start.slots).sum();
    law(started == next, || {
        format!("{started} slots started, but the next slot has the number {next}")
    })
}

/// The slots of one call start together, so the law allows the slots of the largest call so far in addition.
fn within_the_rate(evidence: &Evidence, starts: &[Start]) -> Result<(), String> {
    let start = State { rate: evidence.scenario.rate, runs: true };
    let allowance =
        Allowance::new(evidence.origin, start, &evidence.changes, State::speed, u64::max);
    let early = evidence.scenario.sleep_threshold.as_nanos() * u128::from(fastest(evidence));
    let rounding = if evidence.changes.is_empty() { 0 } else { SLOT };
    let (mut started, mut longest) = (0, 0);
    for start in starts {
        started += u128::from(start.slots);
        longest = longest.max(u128::from(start.slots));
        let allowed = allowance.until(start.actual) + early + rounding;
        law((started - longest) * SLOT <= allowed, || {
            format!(
                "{started} slots started, where {} are allowed, at {start:?}",
                allowed / SLOT + longest
            )
        })?;
    }
    Ok(())
}
