//! Keeps the thread awake until the end of the pause: it spins, or yields the processor to other threads repeatedly.

use super::caller_pause::CallerPause;
use crate::Nanos;
use crate::sync::yield_now;

pub(super) fn spin(pause: &CallerPause<'_>) -> Nanos {
    stay_awake(pause, false)
}

pub(super) fn yield_until_due(pause: &CallerPause<'_>) -> Nanos {
    stay_awake(pause, true)
}

fn stay_awake(pause: &CallerPause<'_>, yields: bool) -> Nanos {
    loop {
        let now = pause.clock.now();
        if !pause.goes_on(now) {
            return now;
        }
        if yields {
            yield_now();
        }
        pause.clock.relax(now, pause.until());
    }
}
