//! Sleeps until the end of a pause.

use super::caller_pause::CallerPause;
use super::estimates::ThreadEstimates;
use super::slack::FineTimer;
use crate::sync::with_parker;
use crate::{Nanos, Parker};

pub(super) fn run(pause: &CallerPause<'_>) -> Nanos {
    if pause.stretch_ns() > 0
        && let Some(estimates) = ThreadEstimates::of(pause)
    {
        return stretched(pause, estimates);
    }
    until(pause, pause.until())
}

fn stretched(pause: &CallerPause<'_>, estimates: ThreadEstimates) -> Nanos {
    let latest = pause.until().signed().saturating_add(pause.stretch_ns());
    let target = estimates.wakes_again(pause.pausing).min(latest).max(pause.until().signed());
    let before = thread_time_ns();
    let now = until(pause, Nanos::from_signed(target));
    ThreadEstimates::update(pause, |estimates| estimates.paid(thread_time_ns() - before));
    now
}

/// The sleep may end early, and does not begin if the plan is outdated.
pub(super) fn until(pause: &CallerPause<'_>, until: Nanos) -> Nanos {
    with_parker(|parker| park_until(pause, parker, until))
}

fn park_until(pause: &CallerPause<'_>, parker: &Parker, until: Nanos) -> Nanos {
    if !pause.enter(parker.unparker()) {
        return pause.clock.now();
    }
    let fine = FineTimer::new(pause.pausing.fine_timers && pause.clock.is_real());
    pause.clock.park(parker, until);
    drop(fine);
    pause.leave();
    let now = pause.clock.now();
    ThreadEstimates::update(pause, |estimates| estimates.slept(until.signed(), now.signed()));
    now
}

#[cfg(target_os = "linux")]
fn thread_time_ns() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The CPU time is read only on Linux. On other systems, the estimated cost of a sleep keeps its initial value.
#[cfg(not(target_os = "linux"))]
fn thread_time_ns() -> i64 {
    0
}
