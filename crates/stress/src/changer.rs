//! The changer: alters the schedule while the workers are at work.

use crate::plan::{Changes, Ends, Plan, draw_rate, rate};
use crate::policy::{draw_limit, draw_strictness};
use fastrand::Rng;
use nanopace::{Nanos, Pacer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// More would take longer to check than to do.
const MOST_CHANGES: usize = 2_000;

/// A change of the course, and the readings of the pacer's clock around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) before: Nanos,
    pub(crate) after: Nanos,
    pub(crate) to: To,
}

/// What the course changes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// So many per second.
    Rate(u64),
    Paused,
    Running,
}

/// Changes what the plan says until it is told to stop. Where workers have to finish, the last
/// change lets them.
pub(crate) fn run(plan: &Plan, pacer: &Pacer, stop: &AtomicBool) -> Vec<Change> {
    let mut rng = Rng::with_seed(plan.seed.rotate_left(7));
    let mut changes = Vec::new();
    let longest_us = 10_u64.pow(rng.u32(1..5));
    while plan.changes != Changes::None
        && !stop.load(Ordering::Relaxed)
        && changes.len() < MOST_CHANGES
    {
        if plan.changes == Changes::All && rng.u8(0..3) == 0 {
            change_policy(pacer, &mut rng);
        } else {
            changes.push(change(pacer, draw_course(&mut rng)));
        }
        thread::sleep(Duration::from_micros(rng.u64(0..longest_us)));
    }
    if plan.ends == Ends::AtRest && plan.changes != Changes::None {
        changes.push(change(pacer, To::Rate(plan.rate)));
        changes.push(change(pacer, To::Running));
    }
    changes
}

fn draw_course(rng: &mut Rng) -> To {
    match rng.u8(0..6) {
        0 => To::Paused,
        1..3 => To::Running,
        _ => To::Rate(draw_rate(rng)),
    }
}

fn change(pacer: &Pacer, to: To) -> Change {
    let before = pacer.now();
    match to {
        To::Rate(per_second) => pacer.set_rate(rate(per_second)),
        To::Paused => pacer.pause(),
        To::Running => pacer.resume(),
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
