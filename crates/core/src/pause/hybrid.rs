//! Sleep until shortly before the moment, spin the rest, and stay within a budget.

use super::estimates::ThreadEstimates;
use super::hold::Hold;
use super::{sleep, spin};
use crate::Nanos;

pub(super) fn hold(hold: &Hold<'_>) -> Nanos {
    let (now, until) = (hold.plan.now, hold.until().signed());
    let learnt =
        ThreadEstimates::update(hold, |estimates| estimates.pass(now, hold.pausing.spin_share));
    let Some(estimates) = learnt else { return spin::hold(hold) };
    let margin = estimates.margin();
    if estimates.credit() < margin {
        return sleep_through(hold);
    }
    let woken = if until - now > margin {
        sleep::until(hold, Nanos::from_signed(until - margin))
    } else {
        Nanos::from_signed(now)
    };
    if hold.goes_on(woken) { spin_from(hold, woken) } else { woken }
}

/// Spins to the moment, if there is a processor for it.
fn spin_from(hold: &Hold<'_>, now: Nanos) -> Nanos {
    if let Some(_permit) = hold.pausing.permits.take() {
        return spin_booked(hold, now);
    }
    ThreadEstimates::update(hold, ThreadEstimates::crowded_out);
    sleep_through(hold)
}

/// Sleeps, and credits the time that this took, in case the thread turns to another pacer.
fn sleep_through(hold: &Hold<'_>) -> Nanos {
    let now = sleep::hold(hold);
    ThreadEstimates::update(hold, |estimates| {
        estimates.pass(now.signed(), hold.pausing.spin_share);
    });
    now
}

/// Books the time before it spins, so that nothing comes between the moment and the start.
fn spin_booked(hold: &Hold<'_>, begun: Nanos) -> Nanos {
    let left = hold.until().signed() - begun.signed();
    ThreadEstimates::update(hold, |estimates| {
        estimates.pass(begun.signed(), hold.pausing.spin_share);
        estimates.spun(left);
    });
    hold.pausing.add_spun(left);
    let (mut now, mut longest_gap) = (begun, 0);
    while hold.goes_on(now) {
        hold.clock.relax(now, hold.until());
        let before = std::mem::replace(&mut now, hold.clock.now());
        longest_gap = longest_gap.max(now.signed() - before.signed());
    }
    let over = now.signed() - hold.until().signed();
    if !(0..=UNBOOKED_NS).contains(&over) {
        book(hold, left, over, longest_gap);
    }
    now
}

/// A spin that ends no later than this has been booked well enough.
const UNBOOKED_NS: i64 = 1_000;

/// A spin that should have taken `left` has taken `over` longer; `over` is negative if a change has
/// ended it early.
#[cold]
fn book(hold: &Hold<'_>, left: i64, over: i64, longest_gap: i64) {
    hold.pausing.add_spun(over);
    ThreadEstimates::update(hold, |estimates| {
        estimates.spun(over);
        estimates.lost_processor(left + over, longest_gap);
    });
}
