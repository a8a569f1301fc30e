//! Sleep until shortly before the moment, spin the rest, and keep to a budget.

use super::habit::Habit;
use super::{Hold, sleep, spin};
use crate::Nanos;

pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) -> Nanos {
    let Some(mut habit) = Habit::of(hold) else { return spin::hold(hold) };
    let now = hold.clock.now();
    let credit = habit.spin_credit(now.signed(), hold.pausing.spin_share);
    habit.keep();
    let margin = habit.margin();
    if credit < margin {
        sleep::hold(hold)
    } else if hold.until.signed() - now.signed() > margin {
        sleep::until(hold, Nanos::from_signed(hold.until.signed() - margin))
    } else if let Some(_turn) = hold.pausing.turns.take() {
        spin_within(hold, now, credit)
    } else {
        habit.crowded_out();
        habit.keep();
        sleep::hold(hold)
    }
}

/// Spins to the moment, unless the credit is used up before.
fn spin_within<F: Fn() -> bool>(hold: &Hold<'_, F>, from: Nanos, credit: i64) -> Nanos {
    let last = from.signed().saturating_add(credit);
    let (mut now, mut longest_gap) = (from, 0);
    while hold.goes_on(now) && now.signed() < last {
        hold.clock.relax(now, hold.until);
        let before = std::mem::replace(&mut now, hold.clock.now());
        longest_gap = longest_gap.max(now.signed() - before.signed());
    }
    let spun = now.signed() - from.signed();
    hold.pausing.add_spun(spun);
    if let Some(mut habit) = Habit::of(hold) {
        habit.spun(spun, longest_gap);
        habit.keep();
    }
    now
}
