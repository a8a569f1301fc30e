//! Sleep until the moment has come.

use super::habit::Habit;
use super::processor::thread_time_ns;
use super::slack::FineTimer;
use super::{Hold, Nanos};
use crate::sync::Parker;

/// Sleeps to the moment; or later, where the thread would spend too much on sleeping and may make up for it.
pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) -> Nanos {
    match Habit::of(hold) {
        Some(habit) if hold.leeway_ns > 0 => stretched(hold, habit),
        _ => until(hold, hold.until),
    }
}

fn stretched<F: Fn() -> bool>(hold: &Hold<'_, F>, habit: Habit) -> Nanos {
    let latest = hold.until.signed().saturating_add(hold.leeway_ns);
    let target = habit.wakes_again(hold.pausing).min(latest).max(hold.until.signed());
    let before = thread_time_ns();
    let now = until(hold, Nanos::from_signed(target));
    if let Some(mut habit) = Habit::of(hold) {
        habit.paid(thread_time_ns() - before);
        habit.keep();
    }
    now
}

/// Sleeps once, to `until` or until a change wakes it.
pub(super) fn until<F: Fn() -> bool>(hold: &Hold<'_, F>, until: Nanos) -> Nanos {
    let parker = Parker::new();
    if !hold.sleepers.enter(hold.position, parker.unparker(), &hold.is_current) {
        return hold.clock.now();
    }
    let fine = FineTimer::new(hold.pausing.fine_timers && hold.clock.is_real());
    hold.clock.park(&parker, until);
    drop(fine);
    hold.sleepers.leave(hold.position);
    let now = hold.clock.now();
    if let Some(mut habit) = Habit::of(hold) {
        habit.slept(until.signed(), now.signed());
        habit.keep();
    }
    now
}
