//! Sleep until shortly before the moment, spin the rest, and keep to a budget.

use super::habit::Habit;
use super::{Hold, sleep, spin};
use crate::Nanos;

pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) {
    let Some(mut habit) = Habit::of(hold) else { return spin::hold(hold) };
    let now = hold.now();
    let credit = habit.spin_credit(now, hold.pausing.spin_share);
    habit.keep();
    let margin = habit.margin();
    if credit < margin {
        sleep::hold(hold);
    } else if hold.until.signed() - now > margin {
        sleep::until(hold, Nanos::from_signed(hold.until.signed() - margin));
    } else {
        spin_within(hold, now, credit);
    }
}

/// Spins to the moment, unless the credit is used up before.
fn spin_within<F: Fn() -> bool>(hold: &Hold<'_, F>, from: i64, credit: i64) {
    let (mut last, mut longest_gap) = (from, 0);
    while hold.goes_on() && last - from < credit {
        hold.clock.relax(hold.until);
        let now = hold.now();
        longest_gap = longest_gap.max(now - last);
        last = now;
    }
    hold.pausing.add_spun(last - from);
    if let Some(mut habit) = Habit::of(hold) {
        habit.spun(last - from, longest_gap, last);
        habit.keep();
    }
}
