//! Sleep until the moment has come.

use super::estimates::ThreadEstimates;
use super::hold::Hold;
use super::processor::thread_time_ns;
use super::slack::FineTimer;
use crate::Nanos;
use crate::sync::{Parker, with_parker};

/// Sleeps to the moment, or longer, if the thread would otherwise spend too much on sleeping and
/// may make up for it.
pub(super) fn hold(hold: &Hold<'_>) -> Nanos {
    match ThreadEstimates::of(hold) {
        Some(estimates) if hold.stretch_ns() > 0 => stretched(hold, estimates),
        _ => until(hold, hold.until()),
    }
}

fn stretched(hold: &Hold<'_>, estimates: ThreadEstimates) -> Nanos {
    let latest = hold.until().signed().saturating_add(hold.stretch_ns());
    let target = estimates.wakes_again(hold.pausing).min(latest).max(hold.until().signed());
    let before = thread_time_ns();
    let now = until(hold, Nanos::from_signed(target));
    ThreadEstimates::update(hold, |estimates| estimates.paid(thread_time_ns() - before));
    now
}

/// Sleeps once, to `until` or until a change wakes it.
pub(super) fn until(hold: &Hold<'_>, until: Nanos) -> Nanos {
    with_parker(|parker| park_until(hold, parker, until))
}

fn park_until(hold: &Hold<'_>, parker: &Parker, until: Nanos) -> Nanos {
    if !hold.enter(parker.unparker()) {
        return hold.clock.now();
    }
    let fine = FineTimer::new(hold.pausing.fine_timers && hold.clock.is_real());
    hold.clock.park(parker, until);
    drop(fine);
    hold.leave();
    let now = hold.clock.now();
    ThreadEstimates::update(hold, |estimates| estimates.slept(until.signed(), now.signed()));
    now
}
