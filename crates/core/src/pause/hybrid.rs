//! Sleep until shortly before the moment, spin the rest.

use super::{Hold, sleep, spin};
use crate::Nanos;

/// More than a sleep usually overruns, with the timer slack that threads have by default.
const SPIN_NS: u64 = 100_000;

pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) {
    let wake = Nanos::from_nanos(hold.until.as_nanos().saturating_sub(SPIN_NS));
    if hold.clock.now() < wake {
        sleep::hold(hold, wake);
    }
    if hold.clock.now() >= wake {
        spin::hold(hold);
    }
}
