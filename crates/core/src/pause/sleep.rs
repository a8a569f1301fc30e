//! Sleep until the moment has come.

use super::Hold;
use super::habit::Habit;
use super::slack::FineTimer;
use crate::Nanos;
use crate::sync::Parker;

/// Sleeps to the moment; or later, where the thread has just woken and would spend too much on sleeping.
pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) {
    let earliest = match Habit::of(hold) {
        Some(habit) if hold.may_stretch => {
            habit.woke.min(hold.now()).saturating_add(hold.pausing.sleep_period_ns())
        }
        _ => i64::MIN,
    };
    until(hold, hold.until.max(Nanos::from_signed(earliest)));
}

/// Sleeps once, to `until` or until a change wakes it; the caller looks again.
pub(super) fn until<F: Fn() -> bool>(hold: &Hold<'_, F>, until: Nanos) {
    let parker = Parker::new();
    if let Some(place) = hold.sleepers.enter(hold.position, parker.unparker(), &hold.is_current) {
        let fine = FineTimer::new(hold.pausing.fine_timers && hold.clock.is_real());
        hold.clock.park(&parker, until);
        drop(fine);
        hold.sleepers.leave(place);
        if let Some(mut habit) = Habit::of(hold) {
            habit.slept(until.signed(), hold.now());
            habit.keep();
        }
    }
}
