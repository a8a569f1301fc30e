//! Let other threads run until the moment has come.

use super::hold::Hold;
use crate::Nanos;
use crate::sync::yield_now;

pub(super) fn hold(hold: &Hold<'_>) -> Nanos {
    loop {
        let now = hold.clock.now();
        if !hold.goes_on(now) {
            return now;
        }
        yield_now();
        hold.clock.relax(now, hold.until());
    }
}
