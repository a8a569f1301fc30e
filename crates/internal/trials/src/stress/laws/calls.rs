//! Checks the laws about single calls.

use super::law::law;
use crate::stress::changer::ChangeTo;
use crate::stress::evidence::Evidence;
use crate::stress::record::{Call, Record};
use crate::stress::scenario::{Changes, Work};
use nanopace::{Grant, Nanos, Refused};
use std::collections::HashMap;

/// The maximum number of starts that share a clock reading, as documented for a grant's wait time.
const MOST_PER_READING: u64 = 2_048;

pub(super) fn check(evidence: &Evidence) -> Result<(), String> {
    for record in &evidence.records {
        let checked = match record.answer {
            Ok(grant) => granted(evidence, record, grant),
            Err(refused) => answered(evidence, record, refused),
        };
        checked.map_err(|law| format!("{law}\n{record:?}, origin {:?}", evidence.origin))?;
    }
    readings_are_shared_by_few(evidence)?;
    nothing_starts_while_paused(evidence)
}

fn granted(evidence: &Evidence, record: &Record, grant: Grant) -> Result<(), String> {
    never_early(evidence, record, grant)?;
    law(grant.actual_start() <= record.after, || {
        "an actual start is later than the return of its call".to_owned()
    })?;
    let told = grant.wait_time();
    law(told <= record.after - grant.intended_start(), || {
        "a wait time is longer than measured".to_owned()
    })?;
    let is_long = evidence.scenario.work == Work::Long && record.call == Call::Lane;
    let has_own_reading = evidence.scenario.is_judged_throughout() || is_long;
    law(!has_own_reading || grant.actual_start() >= record.before, || {
        "an actual start is before the call, although it has a reading of its own".to_owned()
    })?;
    law(record.before <= evidence.closed.1, || "a start after the close".to_owned())
}

/// The pacer's clock may be a thousandth faster than the operating system's.
fn never_early(evidence: &Evidence, record: &Record, grant: Grant) -> Result<(), String> {
    let threshold = evidence.scenario.sleep_threshold;
    let early = grant.intended_start() - grant.actual_start();
    law(early.is_zero() || early < threshold, || "a start is early".to_owned())?;
    let really_early = grant.intended_start() - record.after;
    law(really_early.is_zero() || really_early < threshold, || "a call returns early".to_owned())?;
    let scheduled = grant.intended_start() - evidence.origin;
    let real = record.real + record.real / 1_000 + threshold;
    law(scheduled <= real, || {
        format!("a start is early by the operating system's clock: {scheduled:?}")
    })
}

fn answered(evidence: &Evidence, record: &Record, refused: Refused) -> Result<(), String> {
    let calm = evidence.scenario.changes == Changes::None;
    match refused {
        Refused::NotUntil(moment) if calm => not_until(record, moment),
        Refused::Paused => paused(calm, record),
        Refused::Closed => {
            law(record.after >= evidence.closed.0, || "closed before the close".to_owned())
        }
        Refused::NotUntil(_) => Ok(()),
        other => Err(format!("refused by {other}")),
    }
}

fn not_until(record: &Record, moment: Nanos) -> Result<(), String> {
    law(moment > record.before, || format!("refused until {moment:?}, which had passed"))?;
    let deadlined = matches!(record.call, Call::Timeout | Call::Deadline);
    law(!deadlined || moment > record.limit, || {
        format!("refused, although a slot is due at {moment:?}, within the deadline")
    })
}

fn paused(calm: bool, record: &Record) -> Result<(), String> {
    law(!calm, || "paused, but not by the changer".to_owned())?;
    let deadlined = matches!(record.call, Call::Timeout | Call::Deadline);
    law(!deadlined || record.after >= record.limit, || "given up before the deadline".to_owned())
}

fn readings_are_shared_by_few(evidence: &Evidence) -> Result<(), String> {
    let mut shared: HashMap<(u64, Nanos), u64> = HashMap::new();
    for record in &evidence.records {
        if let Ok(grant) = record.answer {
            *shared.entry((record.lane, grant.actual_start())).or_default() += 1;
        }
    }
    let most = shared.into_iter().max_by_key(|(_, count)| *count);
    let most = most.filter(|(_, count)| *count > MOST_PER_READING);
    law(most.is_none(), || {
        format!("too many starts on one reading: (lane, moment), count {most:?}")
    })
}

fn nothing_starts_while_paused(evidence: &Evidence) -> Result<(), String> {
    let mut paused = None;
    for change in &evidence.changes {
        match (change.to, paused) {
            (ChangeTo::Paused, None) => paused = Some(change.after),
            (ChangeTo::Running, Some(from)) => {
                none_within(evidence, from, change.before)?;
                paused = None;
            }
            _ => (),
        }
    }
    Ok(())
}

fn none_within(evidence: &Evidence, from: Nanos, to: Nanos) -> Result<(), String> {
    let wrong = evidence.records.iter().find(|record| {
        let starts = |grant: Grant| {
            record.lies_within(from, to)
                || (grant.actual_start() > from && grant.actual_start() < to)
        };
        record.slots > 0 && record.answer.is_ok_and(starts)
    });
    law(wrong.is_none(), || format!("a start while paused, {from:?} to {to:?}:\n{wrong:?}"))
}
