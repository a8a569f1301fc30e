//! Changes the schedule while the workers run.

use crate::stress::policy::{draw_limit, draw_strictness};
use crate::stress::scenario::{Changes, Ends, Scenario, draw_rate, rate};
use fastrand::Rng;
use nanopace::{Nanos, Pacer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The maximum number of changes. More changes would take longer to check than to make.
const MOST_CHANGES: usize = 2_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) before: Nanos,
    pub(crate) after: Nanos,
    pub(crate) to: ChangeTo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeTo {
    Rate(u64),
    Paused,
    Running,
}

/// If the round ends at rest, the last changes restore the rate and resume the schedule, so that no worker waits
/// forever.
pub(crate) fn run(scenario: &Scenario, pacer: &Pacer, stop: &AtomicBool) -> Vec<Change> {
    let mut rng = Rng::with_seed(scenario.seed.rotate_left(7));
    let mut changes = Vec::new();
    let longest_us = 10_u64.pow(rng.u32(1..5));
    while scenario.changes != Changes::None
        && !stop.load(Ordering::Relaxed)
        && changes.len() < MOST_CHANGES
    {
        if scenario.changes == Changes::All && rng.u8(0..3) == 0 {
            change_policy(pacer, &mut rng);
        } else {
            changes.push(change(pacer, draw_change(&mut rng)));
        }
        thread::sleep(Duration::from_micros(rng.u64(0..longest_us)));
    }
    if scenario.ends == Ends::AtRest && scenario.changes != Changes::None {
        changes.push(change(pacer, ChangeTo::Rate(scenario.rate)));
        changes.push(change(pacer, ChangeTo::Running));
    }
    changes
}

fn draw_change(rng: &mut Rng) -> ChangeTo {
    match rng.u8(0..6) {
        0 => ChangeTo::Paused,
        1..3 => ChangeTo::Running,
        _ => ChangeTo::Rate(draw_rate(rng)),
    }
}

fn change(pacer: &Pacer, to: ChangeTo) -> Change {
    let before = pacer.now();
    match to {
        ChangeTo::Rate(per_second) => pacer.set_rate(rate(per_second)),
        ChangeTo::Paused => pacer.pause(),
        ChangeTo::Running => pacer.resume(),
    }
    Change { before, after: pacer.now(), to }
}

fn change_policy(pacer: &Pacer, rng: &mut Rng) {
    let limit = rng.bool().then(|| draw_limit(rng));
    match rng.u8(0..3) {
        0 => pacer.set_strictness(draw_strictness(rng)),
        1 => pacer.set_max_backlog(limit),
        _ => pacer.set_skip_later_than(limit),
    }
}
