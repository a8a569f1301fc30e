//! Sleeps until shortly before the end of a pause, then spins until the end, within a budget of spinning time.

use super::caller_pause::CallerPause;
use super::estimates::{Approach, ThreadEstimates, share_of};
use super::{busy, sleep};
use crate::Nanos;

pub(super) fn run(pause: &CallerPause<'_>) -> Nanos {
    let (now, until) = (pause.plan.now, pause.until().signed());
    let learnt =
        ThreadEstimates::update(pause, |estimates| estimates.pass(now, pause.pausing.spin_share));
    let Some(estimates) = learnt else { return busy::spin(pause) };
    let earned = share_of(pause.plan.interval_ns, pause.pausing.spin_share);
    match estimates.approach(until - now, earned, pause.stretch_ns() > 0) {
        Approach::Spin => spin_from(pause, Nanos::from_signed(now)),
        Approach::SleepThenSpin(margin) => {
            let wakes = (until - margin).max(now + LEAST_SLEEP_NS).min(until);
            let woken = sleep::until(pause, Nanos::from_signed(wakes));
            if pause.goes_on(woken) { spin_from(pause, woken) } else { woken }
        }
        Approach::Sleep => sleep_through(pause),
    }
}

/// The minimum length of a sleep, unless the pause is shorter. A shorter sleep would not end any earlier.
const LEAST_SLEEP_NS: i64 = 2_000;

fn spin_from(pause: &CallerPause<'_>, now: Nanos) -> Nanos {
    if let Some(_permit) = pause.pausing.permits.take() {
        return spin_booked(pause, now);
    }
    ThreadEstimates::update(pause, ThreadEstimates::crowded_out);
    sleep_through(pause)
}

/// Credits the thread for the sleep at once: a thread that uses another pacer next would lose the credit.
fn sleep_through(pause: &CallerPause<'_>) -> Nanos {
    let now = sleep::run(pause);
    ThreadEstimates::update(pause, |estimates| {
        estimates.pass(now.signed(), pause.pausing.spin_share);
    });
    now
}

/// Subtracts the time of the spin from the credit in advance, so that this work does not delay the start.
fn spin_booked(pause: &CallerPause<'_>, begun: Nanos) -> Nanos {
    let left = pause.until().signed() - begun.signed();
    ThreadEstimates::update(pause, |estimates| {
        estimates.pass(begun.signed(), pause.pausing.spin_share);
        estimates.spun(left);
    });
    pause.pausing.add_spun(left);
    let (mut now, mut longest_gap) = (begun, 0);
    while pause.goes_on(now) {
        pause.clock.relax(now, pause.until());
        let before = std::mem::replace(&mut now, pause.clock.now());
        longest_gap = longest_gap.max(now.signed() - before.signed());
    }
    let over = now.signed() - pause.until().signed();
    if !(0..=UNBOOKED_NS).contains(&over) {
        book(pause, left, over, longest_gap);
    }
    now
}

/// The credit is not corrected if a spin overruns by at most this time.
const UNBOOKED_NS: i64 = 1_000;

/// `over` is the overrun of a spin. It is negative if a change of the schedule ended the spin early.
#[cold]
fn book(pause: &CallerPause<'_>, left: i64, over: i64, longest_gap: i64) {
    pause.pausing.add_spun(over);
    ThreadEstimates::update(pause, |estimates| {
        estimates.spun(over);
        estimates.lost_processor(left + over, longest_gap);
    });
}
